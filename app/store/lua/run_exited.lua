-- running -> exited, with how its container ended.
local id = ARGV[1]

if state(id) ~= 'running' then
	return redis.status_reply('OK')
end
redis.call('HSET', record(id), 'exitCode', ARGV[2], 'exitedAt', ARGV[3],
	'oomKilled', ARGV[4], 'exitReason', ARGV[5])
return move(id, 'exited', redis.call('HGET', record(id), 'expiresAt')) or
	redis.status_reply('OK')
