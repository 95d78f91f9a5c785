-- The named fields of one record.
local id = ARGV[1]

if redis.call('TYPE', record(id)).ok == 'none' then
	return absent(id)
end
return read(id, now(), unpack(ARGV, 2))
