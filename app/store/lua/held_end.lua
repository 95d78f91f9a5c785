-- A hold is over.
local id, hold = ARGV[1], ARGV[2]

if state(id) ~= 'absent' and redis.call('HGET', record(id), 'hold') == hold then
	redis.call('HDEL', record(id), 'hold', 'holdUntil', 'holdFrozen')
end
return redis.status_reply('OK')
