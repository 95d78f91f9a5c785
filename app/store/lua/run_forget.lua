-- The record goes. The tombstone keeps the reaper from adopting a container
-- that it saw just before it was removed.
local id = ARGV[1]

if state(id) ~= 'absent' then
	local refusal = move(id, 'absent')

	if refusal then
		return refusal
	end
end
erase(id)
redis.call('SET', tombstone(id), text(now()), 'PX', 600000)
return redis.status_reply('OK')
