-- The way to a run's init, as its creator or the reaper found it.
local id, transport, dir, pid, wire = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]

if state(id) ~= 'absent' then
	redis.call('HSET', record(id), 'transport', transport, 'guestDir', dir,
		'guestPid', pid, 'guestWire', wire)
end
return redis.status_reply('OK')
