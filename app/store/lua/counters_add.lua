-- Add to counters: pairs of field and amount.
for i = 1, #ARGV, 2 do
	redis.call('HINCRBY', 'sbx:counters', ARGV[i], ARGV[i + 1])
end
return redis.status_reply('OK')
