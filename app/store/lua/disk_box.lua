-- What else was found on the disk: names and values, for ten minutes.
redis.call('HSET', 'sbx:disk', unpack(ARGV))
redis.call('PEXPIRE', 'sbx:disk', 600000)
return redis.status_reply('OK')
