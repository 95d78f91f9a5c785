#!/bin/bash
# The order of things on the way down and up: `down` stops the target with
# streams on it, and leaves runs for a reboot (systemd.sh does it); `up` looks at
# what is there then.
#   boot.sh down | up
# shellcheck disable=SC2317 # holds calls them
# shellcheck source=tests/images/systemd/lib.sh
. "${0%/*}/lib.sh"

# Unit $1 ended before unit $2.
ended_before() {
	(($(property InactiveEnterTimestampMonotonic "$1") <= $(property InactiveEnterTimestampMonotonic "$2")))
}

is_gone() {
	[[ -z $(pgrep 'sbx-app|sbx-reaper|nginx|redis-server') ]] && echo gone
}

down() {
	local id
	expect 'it is up' '"ok"' is_up
	id=$(sbxctl run sbx:plain)
	begin_stream "$id" 5 short
	begin_stream "$id" 600 long
	systemctl stop sbx.target # which does not wait
	expect 'the target stops within SBX_DRAIN_SEC and some seconds' gone is_gone
	expect 'a stream that could finish did' $'5' tail -n 1 "$work/short"
	holds 'one that could not was cut' grep -q . "$work/long"
	for unit in sbx-reaper sbx-app-{control,stream}@{1,2}; do
		holds "$unit ended before Redis" ended_before "$unit" sbx-redis
	done
	systemctl start sbx.target
	expect 'it is up again' '"ok"' is_up
	holds 'the run is there' sbxctl exec "$id" -- sh -c 'echo kept >note'
	echo "$id" >/root/booted
	sbxctl run sbx:plain --ttl 20 >/root/due
	exit "$failed"
}

up() {
	local id
	id=$(cat /root/booted)
	expect 'it is up after a reboot' '"ok"' is_up
	for unit in sbx.target sbx-nginx sbx-redis sbx-reaper sbx-app-{control,stream}@{1,2}; do
		holds "$unit is active" is_active "$unit"
	done
	expect 'the run is found, exited' '"state":"exited"' call "$api/runs/$id"
	expect 'with its files' kept call "$api/runs/$id/files/note"
	expect 'one whose time was up meanwhile is gone' 404 status_of "$api/runs/$(cat /root/due)"
	holds 'it can be removed' sbxctl rm "$id"
	expect 'nothing is left of it' 0 sh -c 'docker ps -aq | wc -l'
	id=$(sbxctl run sbx:plain)
	holds 'a new one works' sbxctl exec "$id" -- true
	finish
}

"$@"
