-- What a run was found to hold of the disk. Why it will have to end is known
-- before it is killed, so that whoever notices its end tells the same.
local id, stop = ARGV[1], ARGV[5]
local from = state(id)

if from ~= 'running' and from ~= 'exited' then
	return 0
end
local was = redis.call('HGET', record(id), 'diskWarned')
redis.call('HSET', record(id), 'diskBytes', ARGV[2], 'diskCache', ARGV[3],
	'diskWarned', ARGV[4], 'diskAt', text(now()))
if from == 'running' and stop ~= '' then
	redis.call('HSET', record(id), 'stopReason', stop)
elseif from == 'running' then
	redis.call('HDEL', record(id), 'stopReason')
end
return (ARGV[4] == '1' and was ~= '1') and 1 or 0
