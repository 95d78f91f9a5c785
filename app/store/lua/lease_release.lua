-- End the current grant, also a lapsed one that nobody was given since. The
-- generation stays: it never repeats.
local id, owner, generation = ARGV[1], ARGV[2], tonumber(ARGV[3])
local from = state(id)

if from == 'absent' or from == 'creating' then
	return absent(id)
end
local l = lease(id, now())
if l.holder == '' or l.holder ~= owner or l.generation ~= generation then
	return refuse('LEASE_SUPERSEDED', 'This lease of run ' .. id ..
		' was superseded, or released before.')
end
redis.call('HDEL', record(id), 'leaseHolder', 'leaseExpiresAt')
return redis.status_reply('OK')
