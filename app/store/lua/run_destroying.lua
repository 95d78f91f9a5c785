-- any -> destroying, and again: the caller has the run to tear down.
local id = ARGV[1]
local from = state(id)

if from == 'absent' then
	return absent(id)
end
local until_ms = claim_until(id, now())
if from == 'destroying' then
	look_again(id, until_ms)
	return redis.status_reply('OK')
end
return move(id, 'destroying', until_ms) or redis.status_reply('OK')
