-- running -> exited, with how its container ended; of one that has exited, the
-- reason as it is known by now. Who had it stopped knows best.
local id = ARGV[1]
local from = state(id)
local reason = redis.call('HGET', record(id), 'stopReason') or ARGV[5]

if from == 'exited' then
	redis.call('HSET', record(id), 'exitReason', reason)
end
if from ~= 'running' then
	return redis.status_reply('OK')
end
redis.call('HSET', record(id), 'exitCode', ARGV[2], 'exitedAt', ARGV[3],
	'oomKilled', ARGV[4], 'exitReason', reason)
return move(id, 'exited', redis.call('HGET', record(id), 'expiresAt')) or
	redis.status_reply('OK')
