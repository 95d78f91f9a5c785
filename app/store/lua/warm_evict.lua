-- Forget the current generation if it is this one. Unless it is gone from the
-- disk ('1'), only where nothing pins it. Replies 1 where it was forgotten.
local repo, gen, gone = ARGV[1], ARGV[2], ARGV[3] == '1'

if redis.call('HGET', warm(repo), 'gen') ~= gen then
	return 0
end
for _, pin in ipairs(warm_pins(repo)) do
	if not gone and string.sub(pin, 1, #gen + 1) == gen .. ' ' then
		return 0
	end
end
return warm_erase(repo) and 1 or 0
