-- What every script begins with: keys, clock, and the one door to `state`.
-- embed.sh puts this in front of each script, and the moves of run_state.def
-- (a table `moves`) in front of this. One Redis, no cluster: keys are made
-- here, not passed.

-- sbx:runs is when each record must next be looked at: the end of a creating
-- mark, the deadline of a run, the next try of a teardown. sbx:ids has the
-- same members in id order, for pages.
local queue, ids = 'sbx:runs', 'sbx:ids'

local day = 86400000 -- most that a run lives
local claim = 15000 -- what one try of a teardown has for itself
local claim_most = 60000

local function record(id)
	return 'sbx:run:' .. id
end

local function tombstone(id)
	return 'sbx:gone:' .. id
end

-- Numbers are doubles here: %d writes them in full, tostring would not.
local function text(number)
	return string.format('%d', number)
end

local function now()
	local t = redis.call('TIME')

	return t[1] * 1000 + math.floor(t[2] / 1000)
end

local function refuse(word, sentence)
	return redis.error_reply(word .. ' ' .. sentence)
end

local function absent(id)
	return refuse('RUN_ABSENT', 'There is no run ' .. id .. '.')
end

-- What is not a record of ours (another type, no state, an unknown one) counts
-- as absent, so that one spoilt key does not spoil a sweep over all of them.
local function state(id)
	local value = redis.pcall('HGET', record(id), 'state')

	return type(value) == 'string' and moves[value] and value or 'absent'
end

local function look_again(id, at)
	redis.call('ZADD', queue, text(at), id)
end

-- Whoever tears a run down has it for a while; the more tries failed, the
-- longer until the next.
local function claim_until(id, time)
	local failed = tonumber(redis.call('HGET', record(id),
		'teardownTries')) or 0

	return time + math.min(claim * 2 ^ failed, claim_most)
end

local function erase(id)
	redis.call('DEL', record(id), 'sbx:inflight:' .. id)
	redis.call('ZREM', queue, id)
	redis.call('ZREM', ids, id)
end

-- The only writer of `state`: nil, or the refusal to return. `at` is when the
-- record must next be looked at.
local function move(id, to, at)
	local from = state(id)

	if not moves[from][to] then
		if from == 'absent' then
			return absent(id)
		end
		return refuse('CONFLICT', 'Run ' .. id .. ' is ' .. from ..
			' and cannot become ' .. to .. '.')
	end
	if to == 'absent' then
		erase(id)
		return nil
	end
	redis.call('HSET', record(id), 'state', to)
	redis.call('ZADD', ids, 0, id)
	look_again(id, at)
	return nil
end

-- The lease of a run. `active` where it stands in the way of others; `waiter`
-- is who waits for the run to become free, nil once that mark is over.
local function lease(id, time)
	local v = redis.call('HMGET', record(id), 'leaseHolder',
		'leaseGeneration', 'leaseExpiresAt', 'leaseWaiter',
		'leaseWaiterUntil')
	local expires = tonumber(v[3]) or 0

	return {
		holder = v[1] or '',
		generation = tonumber(v[2]) or 0,
		expires = expires,
		active = (v[1] or '') ~= '' and expires > time,
		waiter = (tonumber(v[5]) or 0) > time and v[4] or nil,
	}
end

local function held_by(l)
	return 'the lease of ' .. l.holder .. ' (generation ' ..
		text(l.generation) .. '), which ends in ' ..
		text(math.ceil((l.expires - now()) / 1000)) .. ' s'
end

-- Execs and writes in flight: a set of marks, each with the time until which it
-- counts. What lapsed belonged to a worker that died.
local function inflight(id)
	return 'sbx:inflight:' .. id
end

local function in_flight(id, time)
	redis.call('ZREMRANGEBYSCORE', inflight(id), '-inf', text(time))
	return redis.call('ZCARD', inflight(id))
end

-- Who asks for an operation passes where no lease is active, or with exactly
-- the active one's owner and generation ('' and 0: no credential).
local function fence(id, owner, generation, time)
	local l = lease(id, time)

	if l.active and (l.holder ~= owner or l.generation ~= generation) then
		local give = ' is under ' .. held_by(l) ..
			'; give its owner and generation.'
		if owner == '' and generation == 0 then
			return refuse('LEASE_HELD', 'Run ' .. id .. give)
		elseif owner == '' or generation == 0 then
			return refuse('LEASE_SUPERSEDED',
				(owner == '' and 'owner' or 'generation') ..
				' is missing: run ' .. id .. give)
		end
		return refuse('LEASE_SUPERSEDED', 'This lease of run ' .. id ..
			' was superseded: ' .. held_by(l) .. ' stands now.')
	end
	if l.waiter then
		return refuse('LEASE_PENDING', 'A caller waits to take run ' ..
			id .. ' over; try again later.')
	end
	return nil
end

-- A later deadline, ttl ms from now at most, bounded by the run's day.
local function extend(id, time, ttl)
	local v = redis.call('HMGET', record(id), 'createdAt', 'expiresAt')
	local expires = math.min(time + ttl, tonumber(v[1]) + day)

	if expires > tonumber(v[2]) then
		redis.call('HSET', record(id), 'expiresAt', text(expires))
		look_again(id, expires)
	end
end

-- What is done in a run that asked for autoExtend keeps it alive, once less
-- than window ms are left.
local function auto_extend(id, time, window)
	local v = redis.call('HMGET', record(id), 'autoExtend', 'expiresAt',
		'ttlSec')

	if v[1] == '1' and tonumber(v[2]) - time < window then
		extend(id, time, v[3] * 1000)
	end
end

-- A read goes on, or begins, in a run of that state.
local function use(id, from, time, window)
	if from == 'running' or from == 'exited' then
		auto_extend(id, time, window)
	end
end

-- A record as run.c reads it: the named fields, then the time and how many
-- operations are in flight. An error table where it is no record.
local function read(id, time, ...)
	local values = redis.pcall('HMGET', record(id), ...)

	if not values.err then
		values[#values + 1] = text(time)
		values[#values + 1] = text(tonumber(redis.pcall('ZCOUNT',
			inflight(id), text(time), '+inf')) or 0)
	end
	return values
end

-- The warm cache: what is current of a repository, and pins, each with the time
-- until which it counts. Pins that lapsed belonged to somebody that died.
local warms = 'sbx:warms'

local function warm(repo)
	return 'sbx:warm:' .. repo
end

local function no_template(repo)
	return refuse('ABSENT', 'There is no template of ' .. repo .. '.')
end

local function warm_pins(repo)
	local key = 'sbx:warm-pins:' .. repo

	redis.call('ZREMRANGEBYSCORE', key, '-inf', text(now()))
	return redis.call('ZRANGE', key, 0, -1)
end

-- Never shorter than it was pinned for already.
local function warm_pin(repo, member, mark)
	local key = 'sbx:warm-pins:' .. repo
	local until_ms = math.max(now() + mark,
		tonumber(redis.call('ZSCORE', key, member)) or 0)

	redis.call('ZADD', key, text(until_ms), member)
	if redis.call('PTTL', key) < mark * 2 then
		redis.call('PEXPIRE', key, text(mark * 2))
	end
end

-- True where there was one.
local function warm_erase(repo)
	redis.call('ZREM', warms, repo)
	return redis.call('DEL', warm(repo)) == 1
end
