-- The waiter gives up: operations may start again.
local id, waiter = ARGV[1], ARGV[2]

if state(id) ~= 'absent' and
	redis.call('HGET', record(id), 'leaseWaiter') == waiter then
	redis.call('HDEL', record(id), 'leaseWaiter', 'leaseWaiterUntil')
end
return redis.status_reply('OK')
