-- What the disk says is current. A generation's name is a ULID, in the order of
-- publishing: who comes late with an older one changes nothing.
local repo, gen, used = ARGV[1], ARGV[2], tonumber(ARGV[8])
local v = redis.call('HMGET', warm(repo), 'gen', 'lastUse')

if v[1] and v[1] > gen then
	return redis.status_reply('OK')
end
used = text(math.max(used > 0 and used or now(), tonumber(v[2]) or 0))
redis.call('HSET', warm(repo), 'gen', gen, 'lockHash', ARGV[3], 'repoDir',
	ARGV[4], 'createdAt', ARGV[5], 'bytes', ARGV[6], 'entries', ARGV[7],
	'lastUse', used)
redis.call('ZADD', warms, used, repo)
return redis.status_reply('OK')
