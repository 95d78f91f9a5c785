#!/bin/bash
# Another build, or the one before, takes over under load: `begin` starts the
# load, systemd.sh installs, `restart` does what README.md says, `judge` ends the
# load and looks at what came of it.
#   upgrade.sh begin | restart | judge
# shellcheck disable=SC2317 # holds calls them
# shellcheck source=tests/images/systemd/lib.sh
. "${0%/*}/lib.sh"
load=/root/load # outlives this process
runs=4 streams=10

# One more stream of 3 s on run $1, again and again: a line for each.
stream_on() {
	local said code
	until [[ -e $load/stop ]]; do
		code=0
		said=$(stream "$1" 3 2>&1) || code=$?
		if [[ $code -eq 7 && $said == $'1\n2\n3' ]]; then
			echo stream >>"$load/good"
		else
			echo "stream: exit $code: $said" >>"$load/bad"
		fi
	done
}

call_on() {
	local code target=$api/runs/$1
	until [[ -e $load/stop ]]; do
		for code in "$(status_of "$target")" "$(status_of "$target/files/f" -T /etc/hostname)" \
			"$(status_of "$target/exec" -d '{"cmd":"true"}')" "$(status_of "$api/runs")"; do
			[[ $code == 20[014] ]] && echo call >>"$load/good" || echo "call: $code" >>"$load/bad"
		done
	done
}

begin() {
	local run
	rm -rf $load
	mkdir $load
	for _ in $(seq $runs); do
		run=$(sbxctl run sbx:plain)
		echo "$run" >>$load/runs
		for _ in $(seq $streams); do
			stream_on "$run" >/dev/null 2>&1 &
		done
	done
	call_on "$run" >/dev/null 2>&1 &
	call_on "$run" >/dev/null 2>&1 &
	# shellcheck disable=SC2016 # the run's
	sbxctl exec "$run" -d -- sh -c 'i=0; while sleep 1; do i=$((i+1)); echo $i; done' >$load/exec
	sbxctl run sbx:plain --network allowlist >$load/walled
	property MainPID "sbx-proxy@$(cat $load/walled)" >$load/proxy
	expect 'forty streams and short calls go on' 1 grep -c stream $load/good
	[[ $(wc -l <$load/runs) -eq $runs ]] || tell failed 'runs are made'
	exit "$failed"
}

# The commands of "Upgrade" in systemd/README.md.
restart() {
	sed -n '/^## Upgrade/,/^## W/s/^    //p' "${0%/*}/README.md" >/root/upgrade.commands
	holds 'the commands of README.md' bash -eux /root/upgrade.commands
	exit "$failed"
}

no_old_binary() {
	local exe
	for exe in /proc/[0-9]*/exe; do
		[[ $(readlink "$exe") != */sbx-@(app|reaper)' (deleted)' ]] || return
	done
}

background_goes_on() {
	local run all
	run=$(tail -n 1 $load/runs)
	timeout 3 sbxctl logs "$run" "$(cat $load/exec)" >"$work/logs"
	all=$(wc -l <"$work/logs")
	((all > 10)) && [[ $(cat "$work/logs") == "$(seq "$all")" ]]
}

judge() {
	local run walled deadline=$((SECONDS + 30))
	walled=$(cat $load/walled)
	touch $load/stop
	while pgrep -f 'upgrade.sh begin' >/dev/null && ((SECONDS < deadline)); do
		sleep 0.2
	done
	holds "no stream and no call of $(grep -c stream $load/good) and $(grep -c call $load/good) failed" \
		test ! -e $load/bad
	[[ ! -e $load/bad ]] || sort $load/bad | uniq -c | head -n 20
	expect "it is $1" "\"version\":\"$1\"" curl -s $url/health
	holds 'no worker or reaper has the old program' no_old_binary
	holds 'a background command went on, and none of its lines is lost' background_goes_on
	holds 'the proxy of an old run is the same' \
		test "$(cat $load/proxy)" == "$(property MainPID "sbx-proxy@$walled")"
	for run in $(cat $load/runs) "$walled"; do
		holds "old run $run works, and ends" sh -c "sbxctl exec $run -- true && sbxctl rm $run"
	done
	finish
}

"$@"
