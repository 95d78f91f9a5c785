-- running -> exited, with how its container ended.
local id = ARGV[1]

if state(id) ~= 'running' then
	return redis.status_reply('OK')
end
exited(id, 2)
return move(id, 'exited', redis.call('HGET', record(id), 'expiresAt')) or
	redis.status_reply('OK')
