-- The current generation of a repository, pinned in the same step for who boots
-- from it, so that it cannot go in between. It is used now.
local repo, who, mark = ARGV[1], ARGV[2], tonumber(ARGV[3])
local gen, used = redis.call('HGET', warm(repo), 'gen'), text(now())

if not gen then
	return no_template(repo)
end
warm_pin(repo, gen .. ' ' .. who, mark)
redis.call('HSET', warm(repo), 'lastUse', used)
redis.call('ZADD', warms, used, repo)
return gen
