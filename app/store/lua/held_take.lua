-- Take the hold of a run (store/held.h) that nobody has, for a while.
local id, hold, mark = ARGV[1], ARGV[2], tonumber(ARGV[3])
local time, from = now(), state(id)

if from == 'absent' or from == 'creating' then
	return absent(id)
end
if from == 'destroying' then
	return refuse('RUN_NOT_RUNNING', 'Run ' .. id ..
		' is being destroyed.')
end
local v = redis.call('HMGET', record(id), 'hold', 'holdUntil')
if v[1] and tonumber(v[2]) > time then
	return refuse('CONFLICT', 'A ' .. string.match(v[1], '^%S+') ..
		' of run ' .. id .. ' is being taken already; try again ' ..
		'when it is done.')
end
redis.call('HSET', record(id), 'hold', hold, 'holdUntil', text(time + mark),
	'holdFrozen', '0')
return redis.status_reply('OK')
