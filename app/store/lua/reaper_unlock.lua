-- Leave the office, so that a stand-by need not wait.
local held = redis.call('GET', 'sbx:reaper')

if held and string.match(held, '^%d+ (.*)$') == ARGV[1] then
	redis.call('DEL', 'sbx:reaper')
end
return redis.status_reply('OK')
