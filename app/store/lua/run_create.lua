-- A new record. Ids are monotonic: within one millisecond, or after the clock
-- went back, the last one goes up by one instead of being made anew.
local random, most = ARGV[1], tonumber(ARGV[2])
local mark, ttl = tonumber(ARGV[3]), tonumber(ARGV[4])
local digits = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

local function digit(value)
	return string.sub(digits, value + 1, value + 1)
end

local function time_part(ms)
	local s = ''

	for _ = 1, 10 do
		s = digit(ms % 32) .. s
		ms = math.floor(ms / 32)
	end
	return s
end

local function after(id)
	local last = #id

	while string.sub(id, last, last) == 'Z' do
		last = last - 1
	end
	local value = string.find(digits, string.sub(id, last, last), 1, true)
	return string.sub(id, 1, last - 1) .. digit(value) ..
		string.rep('0', #id - last)
end

local function next_id(ms)
	local time = time_part(ms)
	local last = redis.call('GET', 'sbx:last-id')
	local id = time .. random

	if last and string.sub(last, 1, 10) >= time then
		id = after(last)
	end
	redis.call('SET', 'sbx:last-id', id, 'PX', text(day))
	return id
end

-- A sum over the records, never a counter that can drift. A run counts from
-- its creation until it exited or is gone.
local function reserved()
	local sum = 0

	for _, id in ipairs(redis.call('ZRANGE', ids, 0, -1)) do
		local v = redis.pcall('HMGET', record(id), 'state', 'memoryMb',
			'exitedAt')

		if not v.err and v[1] and not v[3] then
			sum = sum + (tonumber(v[2]) or 0)
		end
	end
	return sum
end

local memory = 0
for i = 5, #ARGV, 2 do
	if ARGV[i] == 'memoryMb' then
		memory = tonumber(ARGV[i + 1])
	end
end
if most > 0 then
	local sum = reserved()

	if sum + memory > most then
		return refuse('CAPACITY', 'The runs hold ' .. text(sum) ..
			' of ' .. text(most) .. ' MiB of memory; ' ..
			text(memory) .. ' MiB more do not fit. Destroy a run, ' ..
			'ask for less memoryMb, or raise SBX_MAX_MEMORY_MB.')
	end
end

local created = now()
local expires = created + ttl * 1000
local id = next_id(created)
local refusal = move(id, 'creating', created + mark)
if refusal then
	return refusal
end
redis.call('HSET', record(id), 'createdAt', text(created), 'expiresAt',
	text(expires), 'ttlSec', text(ttl), unpack(ARGV, 5))
return {id, text(created), text(expires)}
