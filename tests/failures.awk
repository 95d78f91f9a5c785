# What failed in a log of cmocka's: each test by its name, with the end of what
# it said, and what was said outside of tests. At most so many lines:
#   awk -v most=40 -f failures.awk LOG
/^\[ RUN      \] / {
	inside = 1
	running = $4
	size[tests + 1] = 0
	next
}
inside && (/^\[       OK \] / || /^\[  SKIPPED \] /) {
	inside = 0
	next
}
# (A fixture that fails makes it an error.)
inside && (/^\[  FAILED  \] / || (/^\[  ERROR   \] / && $NF == running)) {
	inside = 0
	name[++tests] = running
	next
}
# The summary tells no more.
!inside && (/^\[==========\]/ || /^\[  PASSED  \]/ || /^ *[0-9]+ FAILED TEST/ ||
    /^\[  SKIPPED \]/ || /^skipped / || /^$/ ||
    (/^\[  FAILED  \]/ && !/GROUP/)) {
	next
}
{
	at = inside ? tests + 1 : 0
	text[at, ++size[at]] = $0
}
function say(line) {
	if (++said < most)
		print line
	else if (said == most)
		print "..."
}
function tell(at, title, share, i) {
	say(title)
	i = size[at] > share ? size[at] - share + 1 : 1
	for (; i <= size[at]; i++)
		say("    " text[at, i])
}
END {
	if (inside)
		name[++tests] = running " (the program ended in it)"
	parts = tests + (size[0] > 0)
	share = parts > 0 ? int((most - 1) / parts) - 1 : 0
	if (share < 2)
		share = 2
	for (at = 1; at <= tests; at++)
		tell(at, name[at], share)
	if (size[0] > 0)
		tell(0, "outside of tests", share)
}
