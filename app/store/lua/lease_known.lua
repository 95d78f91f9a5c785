-- The run's guest knows a grant that this Redis, set back since, does not: what
-- was seen here is still all there is. Whoever seems to hold the run was
-- followed by somebody.
local id, seen, known = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])

if state(id) ~= 'absent' and lease(id, now()).generation == seen and
	known > seen then
	redis.call('HDEL', record(id), 'leaseHolder', 'leaseExpiresAt')
	redis.call('HSET', record(id), 'leaseGeneration', text(known))
end
return redis.status_reply('OK')
