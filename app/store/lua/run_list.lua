-- A page in id order. The first field asked for is `state`. A label is looked
-- for in so many records at most: `next` then leads on from a short page.
local cursor, limit = ARGV[1], tonumber(ARGV[2])
local key, value, all = ARGV[3], ARGV[4], ARGV[5] == '1'
local scan, time = 2000, now()
local page, found, seen = {''}, 0, 0

local function wanted(id, record_state)
	if record_state == 'creating' and not all then
		return false
	end
	if key == '' then
		return true
	end
	local ok, labels = pcall(cjson.decode,
		redis.call('HGET', record(id), 'labels') or '')
	return ok and type(labels) == 'table' and labels[key] == value
end

while found < limit and seen < scan do
	local from = cursor == '' and '-' or '(' .. cursor
	local batch = redis.call('ZRANGEBYLEX', ids, from, '+', 'LIMIT', 0,
		math.min(limit - found, scan - seen))

	if #batch == 0 then
		return page
	end
	for _, id in ipairs(batch) do
		local values = read(id, time, unpack(ARGV, 6))

		if values.err or not moves[values[1] or ''] then
			erase(id)
		elseif wanted(id, values[1]) then
			found = found + 1
			page[#page + 1] = id
			page[#page + 1] = values
		end
	end
	seen = seen + #batch
	cursor = batch[#batch]
end
if #redis.call('ZRANGEBYLEX', ids, '(' .. cursor, '+', 'LIMIT', 0, 1) > 0 then
	page[1] = cursor
end
return page
