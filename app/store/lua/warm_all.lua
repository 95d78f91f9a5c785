-- What is current of every repository, and when it was last used: threes.
local out = {}

for _, repo in ipairs(redis.call('ZRANGE', warms, 0, -1)) do
	local v = redis.call('HMGET', warm(repo), 'gen', 'lastUse')

	if v[1] then
		out[#out + 1] = repo
		out[#out + 1] = v[1]
		out[#out + 1] = v[2]
	end
end
return out
