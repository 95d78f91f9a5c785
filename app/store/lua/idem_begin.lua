-- Who comes first with an idempotency key makes the run; who comes later waits
-- for it, or gets it. Replies mine, wait, other (another body), or the run's id.
local key, digest, token = 'sbx:idem:' .. ARGV[1], ARGV[2], ARGV[3]
local mark = ARGV[4]
local value = redis.call('GET', key)

if not value then
	redis.call('SET', key, 'making ' .. digest .. ' ' .. token, 'PX', mark)
	return 'mine'
end
local word, known, rest = string.match(value, '^(%a+) (%x+) (%w+)$')
if known ~= digest then
	return 'other'
end
if word == 'run' then
	return rest
end
if rest == token then
	redis.call('PEXPIRE', key, mark)
	return 'mine'
end
return 'wait'
