-- A record made again for what is left of a run. Its lease generation is the
-- time in ms: above any that was granted before the record was lost.
local id, to = ARGV[1], ARGV[2]
local created, ttl = tonumber(ARGV[3]), tonumber(ARGV[4])

if state(id) ~= 'absent' then
	-- Not lost; but a record outside the queue would never be looked at.
	if not redis.call('ZSCORE', queue, id) then
		redis.call('ZADD', ids, 0, id)
		look_again(id, redis.call('HGET', record(id), 'expiresAt'))
	end
	return '0'
end
if to == 'running' and redis.call('EXISTS', tombstone(id)) == 1 then
	return '0'
end
local time = now()
local expires = math.min(created + day, time + ttl * 1000)
redis.call('DEL', record(id))
-- One to tear down is due at once.
local refusal = move(id, to, to == 'running' and expires or time)
if refusal then
	return refusal
end
redis.call('HSET', record(id), 'createdAt', text(created), 'expiresAt',
	text(expires), 'ttlSec', text(ttl), 'adoptedAt', text(time),
	'leaseGeneration', text(time), unpack(ARGV, 5))
return text(expires)
