-- Move the end of the active lease, for exactly its holder and generation.
local id, owner = ARGV[1], ARGV[2]
local generation, ttl = tonumber(ARGV[3]), tonumber(ARGV[4])
local time = now()
local from = state(id)

if from == 'absent' or from == 'creating' then
	return absent(id)
end
local l = lease(id, time)
if not l.active or l.holder ~= owner or l.generation ~= generation then
	return refuse('LEASE_SUPERSEDED', 'This lease of run ' .. id ..
		' was superseded: ' .. (l.active and held_by(l) ..
		' stands now.' or 'it has ended; acquire a new one.'))
end
local expires = text(time + ttl)
redis.call('HSET', record(id), 'leaseExpiresAt', expires)
return {text(generation), expires}
