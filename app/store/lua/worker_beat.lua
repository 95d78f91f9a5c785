-- A worker process is there, and so busy. It is forgotten when it stops saying
-- so.
local name, mark, time = ARGV[1], tonumber(ARGV[2]), now()

redis.call('ZADD', 'sbx:workers', text(time + mark), name)
redis.call('PEXPIRE', 'sbx:workers', text(mark * 2))
redis.call('HSET', 'sbx:worker:' .. name, 'pool', ARGV[3], 'threads', ARGV[4],
	'busy', ARGV[5])
redis.call('PEXPIRE', 'sbx:worker:' .. name, text(mark))
return redis.status_reply('OK')
