-- Admit an exec or write, and mark it in flight, in one step: no lease can be
-- granted under it. generation is 0 for a caller without a credential. Replies
-- the generation that it was admitted under, then the named fields.
local id, op, owner = ARGV[1], ARGV[2], ARGV[3]
local generation, mark = tonumber(ARGV[4]), tonumber(ARGV[5])
local time = now()
local from = state(id)

if from == 'absent' or from == 'creating' then
	return absent(id)
end
local l = lease(id, time)
if l.active and (l.holder ~= owner or l.generation ~= generation) then
	if owner == '' and generation == 0 then
		return refuse('LEASE_HELD', 'Run ' .. id .. ' is under ' ..
			held_by(l) .. '; give its owner and generation.')
	end
	return refuse('LEASE_SUPERSEDED', 'This lease of run ' .. id ..
		' was superseded: ' .. held_by(l) .. ' stands now.')
end
if l.waiter then
	return refuse('LEASE_PENDING', 'A caller waits to take run ' .. id ..
		' over; try again later.')
end
local fields = redis.call('HMGET', record(id), unpack(ARGV, 6))
if from == 'running' then
	redis.call('ZADD', inflight(id), text(time + mark), op)
	redis.call('PEXPIRE', inflight(id), text(mark * 2))
end
return {text(l.generation), fields}
