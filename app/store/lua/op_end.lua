-- An operation has ended.
redis.call('ZREM', inflight(ARGV[1]), ARGV[2])
return redis.status_reply('OK')
