-- What the box has taken on: field and value pairs, `runs STATE`, `workers
-- POOL`, `threads POOL`, `busy POOL`, `memory` in MiB, `inflight`, `disk WHAT`
-- in bytes, `disk flagged` runs. A walk over all records: for people and
-- monitors, not for a request's path.
local time, sums, out = now(), {memory = 0, inflight = 0}, {}

local function add(name, amount)
	sums[name] = (sums[name] or 0) + (tonumber(amount) or 0)
end

for _, id in ipairs(redis.call('ZRANGE', ids, 0, -1)) do
	local from = state(id)

	if from ~= 'absent' then
		local v = redis.call('HMGET', record(id), 'memoryMb',
			'exitedAt', 'diskBytes', 'diskWarned')

		add('runs ' .. from, 1)
		add('memory', not v[2] and v[1])
		add('disk runs', v[3])
		add('disk flagged', v[4])
		add('inflight', redis.pcall('ZCOUNT', inflight(id), text(time),
			'+inf'))
	end
end
redis.call('ZREMRANGEBYSCORE', 'sbx:workers', '-inf', text(time))
for _, name in ipairs(redis.call('ZRANGE', 'sbx:workers', 0, -1)) do
	local v = redis.call('HMGET', 'sbx:worker:' .. name, 'pool', 'threads',
		'busy')

	if v[1] then
		add('workers ' .. v[1], 1)
		add('threads ' .. v[1], v[2])
		add('busy ' .. v[1], v[3])
	end
end
local disk = redis.pcall('HGETALL', 'sbx:disk')
for i = 1, #disk, 2 do
	add(disk[i], disk[i + 1])
end
for name, amount in pairs(sums) do
	out[#out + 1] = name
	out[#out + 1] = text(amount)
end
return out
