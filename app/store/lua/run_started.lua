-- creating -> running. A creator whose record lapsed learns that it is absent.
local id = ARGV[1]

if state(id) ~= 'creating' then
	return absent(id)
end
return move(id, 'running', redis.call('HGET', record(id), 'expiresAt')) or
	redis.status_reply('OK')
