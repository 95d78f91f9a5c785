-- A repository has no current generation any more, at somebody's request.
-- Who boots from it keeps it pinned; who is about to replace it comes first.
local repo = ARGV[1]

for _, pin in ipairs(warm_pins(repo)) do
	if string.sub(pin, -7) == ' commit' then
		return refuse('CONFLICT', 'A warm-commit to ' .. repo ..
			' is on its way; try again when it is done.')
	end
end
if not warm_erase(repo) then
	return no_template(repo)
end
return redis.status_reply('OK')
