#!/bin/bash
# The example of /etc/teploy-sandbox/env, from the text of `sbx-app --help`.
#   sbx-app --help | systemd/env.sh >EXAMPLE
#   systemd/env.sh news EXAMPLE FILE   the variables that FILE does not mention
set -eu
if [[ ${1-} == news ]]; then
	awk '
		match($0, /SBX_[A-Z_]+=/) {
			name = substr($0, RSTART, RLENGTH - 1)
			if (FILENAME == ARGV[1])
				mentioned[name] = 1
			else if (!(name in mentioned))
				print name
		}
	' "$3" "$2"
	exit
fi
cat <<'END'
# Configuration of the sandbox runner, for the units and for the command
# teploy-sandbox: NAME=value, one a line. Each variable is here with its default.
#
# After a change:
#   systemctl reload sbx-nginx
#   systemctl restart sbx-reaper 'sbx-app-*@*'
#
# Some values take a drop-in of a unit too (`systemctl edit UNIT`): see "What
# the units limit" in systemd/README.md. The number of workers is that of the
# units; SBX_WORKERS only tells nginx of more than 8 a pool.
END
# SBX_RUN_DIR and SBX_STATE_DIR are the units' own.
awk '
	/^  SBX_/ {
		name = $1
		sub(/,$/, "", name)
		shown = name !~ /^SBX_(RUN|STATE)_DIR$/
		sub(/.*, default: /, "")
		if (shown)
			printf "\n#%s=%s\n", name, $0 == "empty" ? "" : $0
	}
	/^        / && shown {
		sub(/^ +/, "#    ")
		print
	}
'
