-- What the disk says is current, whatever was believed before.
local repo, used = ARGV[1], tonumber(ARGV[8])
local before = tonumber(redis.call('HGET', warm(repo), 'lastUse')) or 0

used = text(math.max(used > 0 and used or now(), before))
redis.call('HSET', warm(repo), 'gen', ARGV[2], 'lockHash', ARGV[3], 'repoDir',
	ARGV[4], 'createdAt', ARGV[5], 'bytes', ARGV[6], 'entries', ARGV[7],
	'lastUse', used)
redis.call('ZADD', warms, used, repo)
return redis.status_reply('OK')
