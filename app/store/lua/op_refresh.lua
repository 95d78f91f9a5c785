-- Keep marks alive: triples of id, op and the generation it was admitted under
-- (op '': a read, which has no mark but keeps a run alive likewise).
-- Replies the positions (from 1) of operations that must end: their mark lapsed
-- and the run was given to somebody since. A mark that is lost while nobody was
-- given the run (a flushed Redis, an adopted record) is made again.
local mark, window, time = tonumber(ARGV[1]), tonumber(ARGV[2]), now()
local dead = {}

local function given_since(id, generation)
	local current = lease(id, time).generation

	return current ~= generation and current ~=
		tonumber(redis.call('HGET', record(id), 'adoptedAt'))
end

for i = 3, #ARGV, 3 do
	local id, op, generation = ARGV[i], ARGV[i + 1], tonumber(ARGV[i + 2])
	local key, from = inflight(id), state(id)
	local there = op ~= '' and redis.call('ZSCORE', key, op)

	if op == '' then
		use(id, from, time, window)
	elseif from == 'absent' or from == 'destroying' then
		-- Nothing to mark, and nothing to end that a teardown does not.
	elseif there or not given_since(id, generation) then
		redis.call('ZADD', key, text(time + mark), op)
		redis.call('PEXPIRE', key, text(mark * 2))
		auto_extend(id, time, window)
	else
		dead[#dead + 1] = text(i / 3)
	end
end
return dead
