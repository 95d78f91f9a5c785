-- creating -> running. A creator whose record lapsed learns that it is absent.
-- An idempotency key ('' for none) answers with this run from here on, in the
-- same step: a creator that dies now leaves no run that a retry would not find.
local id, key, digest, token = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

if state(id) ~= 'creating' then
	return absent(id)
end
if key ~= '' then
	key = 'sbx:idem:' .. key
	if redis.call('GET', key) ~= 'making ' .. digest .. ' ' .. token then
		return absent(id)
	end
end
local refusal = move(id, 'running',
	redis.call('HGET', record(id), 'expiresAt'))
if refusal then
	return refusal
end
if key ~= '' then
	redis.call('SET', key, 'run ' .. digest .. ' ' .. id, 'PX', text(day))
end
return redis.status_reply('OK')
