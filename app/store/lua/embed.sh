#!/bin/bash
# Makes the C header of the Lua scripts from the files it is given:
#   embed.sh FILE.lua... >lua.h
# Each script is the moves of run_state.def, prelude.lua, and the file; it
# becomes `lua_NAME` (bytes, ending with a NUL) and its digest LUA_SHA_NAME.
set -euo pipefail
here=$(dirname "$0")

moves() {
	echo 'local moves = {'
	sed -n 's/^S(\([a-z]*\), "\([a-z ]*\)").*/\1 \2/p' "$here/../run_state.def" |
		while read -r from to; do
			printf '\t%s = {' "$from"
			for state in $to; do
				printf '%s = true, ' "$state"
			done
			echo '},'
		done
	echo '}'
}

echo '/* Made by app/store/lua/embed.sh. */'
for file in "$@"; do
	name=$(basename "$file" .lua)
	[ "$name" = prelude ] && continue
	text=$(moves && cat "$here/prelude.lua" "$file")
	echo "#define LUA_SHA_$name \"$(printf '%s' "$text" | sha1sum | cut -c1-40)\""
	# Numbers, not a string: C11 promises no more than 4095 characters.
	echo "static const char lua_${name}[] = {"
	printf '%s' "$text" | od -An -v -tu1 | sed 's/  */, /g; s/^, /\t/; s/$/,/'
	echo '0};'
done
