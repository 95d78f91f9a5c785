-- Take what must be torn down now: runs at their deadline, creations whose
-- creator is gone, teardowns whose last try is over.
local limit, time = tonumber(ARGV[1]), now()
local out = {text(time), ''}

for _, id in ipairs(redis.call('ZRANGEBYSCORE', queue, '-inf', text(time),
	'LIMIT', 0, limit)) do
	local from = state(id)
	local expires = tonumber(redis.pcall('HGET', record(id), 'expiresAt'))

	if from == 'absent' then
		erase(id)
	elseif from == 'destroying' then
		redis.call('HINCRBY', record(id), 'teardownTries', 1)
		look_again(id, claim_until(id, time))
		out[#out + 1] = {id, from}
	elseif from ~= 'creating' and expires and expires > time then
		look_again(id, expires)
	else
		move(id, 'destroying', claim_until(id, time))
		out[#out + 1] = {id, from}
	end
end

local first = redis.call('ZRANGE', queue, 0, 0, 'WITHSCORES')
out[2] = first[2] and text(math.max(0, first[2] - time)) or '-1'
return out
