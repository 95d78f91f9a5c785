# shellcheck shell=bash disable=SC2034 # who includes it uses them
# What the parts of the check have in common; sourced, in a container of
# systemd.sh. The end of a part is `finish`.
set -u
failed=0
part=$(basename "$0" .sh)
url=http://127.0.0.1:7439
api=$url/v1
env_file=/etc/teploy-sandbox/env
work=$(mktemp -d)
cp -n "$env_file" /root/env.first

tell() {
	if [[ $1 == ok ]]; then
		echo "ok: $part: $2"
	else
		echo "FAILED: $part: $2: ${3-}"
		failed=1
	fi
}

# expect WHAT WANT COMMAND...: WANT comes out of it within a minute.
expect() {
	local what=$1 want=$2 got deadline=$((SECONDS + 60))
	shift 2
	until got=$("$@" 2>&1) && [[ $got == *"$want"* ]] || ((SECONDS >= deadline)); do
		sleep 0.1
	done
	[[ $got != *"$want"* ]] || { tell ok "$what" && return; }
	tell failed "$what" "$got"
}

# holds WHAT COMMAND...: it succeeds, at once. Here, not in a subshell: it may
# wait for processes.
holds() {
	local what=$1
	shift
	if "$@" >"$work/said" 2>&1; then
		tell ok "$what"
	else
		tell failed "$what" "$* ($(head -c 300 "$work/said"))"
	fi
}

call() {
	curl -s -H "Authorization: Bearer $(head -n1 /deployments/sandbox/token)" "$@"
}

status_of() {
	call -o /dev/null -w '%{http_code}\n' --max-time 30 "$@"
}

property() {
	systemctl show -p "$1" --value "$2"
}

is_active() {
	systemctl is-active -q "$@"
}

is_up() {
	curl -s $url/health/ready
}

# A stream of $2 s on run $1: lines "1", "2", … and an exit code of 7.
stream() {
	sbxctl exec "$1" -- sh -c "for i in \$(seq $2); do echo \$i; sleep 1; done; exit 7"
}

# Start one in the background, with its output in $work/$3: pid in stream_pid.
begin_stream() {
	stream "$1" "$2" >"$work/$3" 2>&1 &
	stream_pid=$!
	expect "stream $3 began" 1 cat "$work/$3"
}

# Process $1 of a stream of $2 s, output in $work/$3, was cut in no place.
whole() {
	local code=0
	wait "$1" || code=$?
	[[ $code -eq 7 && $(cat "$work/$3") == "$(seq "$2")" ]] && return
	echo "exit $code: $(cat "$work/$3")"
	return 1
}

# Priority and words of what the units said, since $1.
journal() {
	journalctl --sync
	journalctl --no-pager -q -o json --since "$1" -u 'sbx-*' |
		sed -n 's/.*"PRIORITY":"\([0-9]\)".*/\1 &/p'
}

# A whole second later nothing of before is in journal's answer.
now() {
	sleep 1
	date '+%F %T'
}

finish() {
	local run
	cp /root/env.first "$env_file"
	for run in $(sbxctl ps 2>/dev/null | awk 'NR > 1 { print $1 }'); do
		sbxctl rm "$run" >/dev/null
	done
	expect 'nothing failed' '0 loaded units' systemctl --no-pager --failed
	rm -rf "$work"
	exit "$failed"
}
