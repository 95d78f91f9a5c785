-- Which version of the programs may work with what is kept here.
local key, mine = 'sbx:schema', tonumber(ARGV[1])
local kept = tonumber(redis.call('GET', key)) or mine

if kept > mine then
	return refuse('CONFLICT', 'Redis holds what a newer version keeps ' ..
		'(schema ' .. text(kept) .. '); this one knows schema ' ..
		text(mine) .. ". Install that version again, or give this " ..
		'one a Redis of its own.')
end
redis.call('SET', key, text(mine))
return redis.status_reply('OK')
