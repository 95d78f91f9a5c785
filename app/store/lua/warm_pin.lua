-- Somebody needs that generation for a while longer.
warm_pin(ARGV[1], ARGV[2], tonumber(ARGV[3]))
return redis.status_reply('OK')
