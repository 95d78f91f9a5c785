-- The making failed: the key is free again.
local key = 'sbx:idem:' .. ARGV[1]

if redis.call('GET', key) == 'making ' .. ARGV[2] .. ' ' .. ARGV[3] then
	redis.call('DEL', key)
end
return redis.status_reply('OK')
