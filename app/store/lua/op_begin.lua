-- Admit an exec or write, and mark it in flight, in one step: no lease can be
-- granted under it. A read (op '') is open to everybody and leaves no mark.
-- Replies the generation that it was admitted under, then the named fields.
local id, op, owner = ARGV[1], ARGV[2], ARGV[3]
local generation, mark = tonumber(ARGV[4]), tonumber(ARGV[5])
local window, time = tonumber(ARGV[6]), now()
local from = state(id)

if from == 'absent' or from == 'creating' then
	return absent(id)
end
local refusal = op ~= '' and fence(id, owner, generation, time)
if refusal then
	return refusal
end
if op == '' then
	use(id, from, time, window)
elseif from == 'running' then
	in_flight(id, time) -- drops what nobody was there to end
	redis.call('ZADD', inflight(id), text(time + mark), op)
	redis.call('PEXPIRE', inflight(id), text(mark * 2))
	auto_extend(id, time, window)
end
return {text(lease(id, time).generation),
	read(id, time, unpack(ARGV, 7))}
