-- running -> exited, with how its container ended; of one that has exited, the
-- reason as it is known by now.
local id = ARGV[1]
local from = state(id)

if from == 'exited' then
	redis.call('HSET', record(id), 'exitReason', ARGV[5])
end
if from ~= 'running' then
	return redis.status_reply('OK')
end
redis.call('HSET', record(id), 'exitCode', ARGV[2], 'exitedAt', ARGV[3],
	'oomKilled', ARGV[4], 'exitReason', ARGV[5])
return move(id, 'exited', redis.call('HGET', record(id), 'expiresAt')) or
	redis.status_reply('OK')
