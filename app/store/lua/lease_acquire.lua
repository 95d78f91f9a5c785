-- Grant a lease, or say why not. Who may wait (a token, '' for nobody) and
-- finds the run busy leaves a mark that keeps new operations out, and asks
-- again before the mark is over. The generation is above `above`, the highest
-- that the run's guest knows. Replies: generation and expiry, or 0 and how many
-- operations are in flight.
local id, owner, ttl = ARGV[1], ARGV[2], tonumber(ARGV[3])
local waiter, mark, above = ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6])
local time = now()
local from = state(id)

if from == 'absent' or from == 'creating' then
	return absent(id)
end
if from == 'destroying' then
	return refuse('RUN_NOT_RUNNING', 'Run ' .. id ..
		' is being destroyed.')
end
local l = lease(id, time)
if l.active and l.holder ~= owner then
	return refuse('LEASE_HELD', 'Run ' .. id .. ' is under ' ..
		held_by(l) .. '.')
end
if l.waiter and l.waiter ~= waiter then
	return refuse('LEASE_PENDING', 'Another caller waits for run ' .. id ..
		' already; try again later.')
end
local busy = in_flight(id, time)
if busy > 0 and waiter == '' then
	return refuse('RUN_BUSY', 'Run ' .. id .. ' is busy: ' .. text(busy) ..
		' operations are in flight. Wait for them, or ask with ' ..
		'waitSec or force.')
end
if busy > 0 then
	redis.call('HSET', record(id), 'leaseWaiter', waiter,
		'leaseWaiterUntil', text(time + mark))
	return {'0', text(busy)}
end
local generation = text(math.max(l.generation, above) + 1)
local expires = text(time + ttl)
redis.call('HDEL', record(id), 'leaseWaiter', 'leaseWaiterUntil')
redis.call('HSET', record(id), 'leaseHolder', owner, 'leaseGeneration',
	generation, 'leaseExpiresAt', expires)
return {generation, expires}
