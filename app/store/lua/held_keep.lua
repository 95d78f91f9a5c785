-- Keep a hold, and say whether the run is frozen now. Replies 1, or 0 where it
-- is not the caller's any more, or the run is going.
local id, hold, mark, frozen = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]
local from = state(id)

if (from ~= 'running' and from ~= 'exited') or
	redis.call('HGET', record(id), 'hold') ~= hold then
	return 0
end
redis.call('HSET', record(id), 'holdUntil', text(now() + mark), 'holdFrozen',
	frozen)
return 1
