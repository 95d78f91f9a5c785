-- Take or keep the reaper's office. The fence is when it was taken, in ms.
local holder, hold = ARGV[1], tonumber(ARGV[2])
local held = redis.call('GET', 'sbx:reaper')
local fence = text(now())

if held then
	local before, who = string.match(held, '^(%d+) (.*)$')

	if who ~= holder then
		return '0'
	end
	fence = before
end
redis.call('SET', 'sbx:reaper', fence .. ' ' .. holder, 'PX', text(hold))
return fence
