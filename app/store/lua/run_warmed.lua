-- What a run's warm volume is, as its creator knows it by now.
local id = ARGV[1]

if state(id) ~= 'absent' then
	redis.call('HSET', record(id), unpack(ARGV, 2))
end
return redis.status_reply('OK')
