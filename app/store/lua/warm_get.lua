-- The current generation of a repository. Who boots from it ('' for nobody)
-- pins it in the same step, so that it cannot go in between.
local repo, who, mark = ARGV[1], ARGV[2], tonumber(ARGV[3])
local v = redis.call('HMGET', warm(repo), 'gen', 'lockHash', 'repoDir',
	'createdAt', 'bytes', 'entries', 'lastUse')

if not v[1] then
	return no_template(repo)
end
if who ~= '' then
	v[7] = text(now())
	warm_pin(repo, v[1] .. ' ' .. who, mark)
	redis.call('HSET', warm(repo), 'lastUse', v[7])
	redis.call('ZADD', warms, v[7], repo)
end
return v
