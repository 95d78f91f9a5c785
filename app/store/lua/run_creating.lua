-- The creator lives: move the end of its mark, and note its container.
local id, mark, container = ARGV[1], tonumber(ARGV[2]), ARGV[3]

if state(id) ~= 'creating' then
	return absent(id)
end
look_again(id, now() + mark)
if container ~= '' then
	redis.call('HSET', record(id), 'containerId', container)
end
return redis.status_reply('OK')
