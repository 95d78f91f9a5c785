# Checks C files against the rules of the file `layers`, and their sizes:
#   awk -f source.awk layers FILE...
# Prints FILE:LINE: what is wrong.

BEGIN {
	MAX_FILE = 500
	MAX_FUNCTION = 60
}

FILENAME == ARGV[1] {
	if ($1 == "include" || $1 == "header" || $1 == "call") {
		rule[$1, $2] = " " $0
		sub(/^ [a-z]+ +[^ ]+/, "", rule[$1, $2])
		names[$1] = names[$1] " " $2
	}
	next
}

FNR == 1 {
	file_ends()
	file = FILENAME
	folder = file
	sub(/[^\/]*$/, "", folder)
	layer = longest(file, names["include"])
	in_comment = 0
	opened = 0
	if (layer == "")
		wrong(file " is in no layer of tests/lint/layers")
}

{
	lines = FNR
	if ($0 ~ /^[ \t]*#[ \t]*include[ \t]/)
		check_include($3 == "" ? $2 : $3)
	code = stripped($0)
	check_calls(code)
	if ($0 == "{")
		opened = FNR
	if ($0 == "}" && opened) {
		if (FNR - opened + 1 > MAX_FUNCTION)
			wrong("the function that ends here has " \
			    FNR - opened + 1 " lines, more than " MAX_FUNCTION)
		opened = 0
	}
}

END {
	file_ends()
	exit faults > 0
}

function wrong(what)
{
	print file ":" FNR ": " what
	faults++
}

function file_ends()
{
	if (file != "" && lines > MAX_FILE) {
		print file ":" lines ": the file has " lines \
		    " lines, more than " MAX_FILE
		faults++
	}
}

# The longest of the prefixes in list that path begins with.
function longest(path, list,    i, n, prefix, best)
{
	n = split(list, prefix, " ")
	for (i = 1; i <= n; i++)
		if (index(path, prefix[i]) == 1 && length(prefix[i]) > length(best))
			best = prefix[i]
	return best
}

# The path of an included file of ours: beside the including one, or in app/.
function resolved(name,    path)
{
	path = folder name
	while (sub(/[^\/]+\/\.\.\//, "", path))
		;
	if ((getline unused < path) >= 0) {
		close(path)
		return path
	}
	return "app/" name
}

function check_include(what,    name, header)
{
	name = what
	gsub(/"/, "", name)
	header = longest(name, names["header"])
	if (header != "") {
		if (longest(file, rule["header", header]) == "")
			wrong("may not include " what)
		if (name !~ /\//)
			return
	}
	if (what !~ /^"/)
		return
	name = resolved(name)
	if (index(name, folder) == 1 && index(name, layer) == 1)
		return
	if (longest(name, rule["include", layer]) == "")
		wrong(layer " may not include " name)
}

function check_calls(code,    i, n, call)
{
	n = split(names["call"], call, " ")
	for (i = 1; i <= n; i++) {
		if (index(code, call[i]) == 0)
			continue
		if ((" " code) ~ ("[^A-Za-z0-9_>.]" call[i] "[ \t]*\\(") &&
		    longest(file, rule["call", call[i]]) == "")
			wrong("may not call " call[i] "()")
	}
}

# The line without comments and without what is in quotes.
function stripped(line,    out, found)
{
	out = ""
	while (line != "") {
		if (in_comment) {
			found = index(line, "*/")
			if (!found)
				return out
			line = substr(line, found + 2)
			in_comment = 0
		}
		if (!match(line, /\/\*|\/\/|"|'/))
			return out line
		found = substr(line, RSTART, 2)
		out = out substr(line, 1, RSTART - 1)
		line = substr(line, RSTART)
		if (found == "//")
			return out
		if (found == "/*") {
			in_comment = 1
			line = substr(line, 3)
		} else if (match(line, /^("([^"\\]|\\.)*"|'([^'\\]|\\.)*')/)) {
			line = substr(line, RLENGTH + 1)
			out = out "\"\""
		} else {
			line = substr(line, 2)
		}
	}
	return out
}
