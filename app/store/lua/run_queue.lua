-- Everything that has a record, and when it must next be looked at.
local out = redis.call('ZRANGE', queue, 0, -1, 'WITHSCORES')

table.insert(out, 1, text(now()))
return out
