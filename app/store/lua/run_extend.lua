-- A later deadline: now + ttl, never earlier than before, never later than
-- createdAt + 24 h. Fenced like an exec. Against an expiry at the same instant
-- there is one outcome: whoever runs first.
local id, owner, generation = ARGV[1], ARGV[2], tonumber(ARGV[3])
local ttl, time = tonumber(ARGV[4]), now()
local from = state(id)

if from == 'absent' or from == 'creating' then
	return absent(id)
end
local refusal = fence(id, owner, generation, time)
if refusal then
	return refusal
end
if from == 'destroying' then
	return refuse('RUN_NOT_RUNNING', 'Run ' .. id ..
		' is being destroyed.')
end
extend(id, time, ttl)
return redis.status_reply('OK')
