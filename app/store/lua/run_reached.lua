-- The way to a run's init, as its creator or the reaper found it.
local id, transport, dir = ARGV[1], ARGV[2], ARGV[3]
local pid, wire, subnet = ARGV[4], ARGV[5], ARGV[6]

if state(id) ~= 'absent' then
	redis.call('HSET', record(id), 'transport', transport, 'guestDir', dir,
		'guestPid', pid, 'guestWire', wire, 'subnet', subnet)
end
return redis.status_reply('OK')
