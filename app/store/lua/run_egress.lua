-- The own entries of a run's allowlist.
local id, own = ARGV[1], ARGV[2]
local from = state(id)

if from == 'absent' or from == 'creating' then
	return absent(id)
end
if from ~= 'running' then
	return refuse('RUN_NOT_RUNNING', 'Run ' .. id .. ' is not running: it ' ..
		(from == 'exited' and 'has exited.' or 'is being destroyed.'))
end
redis.call('HSET', record(id), 'egressAllow', own)
return redis.status_reply('OK')
