#!/bin/bash
# What is killed, restarted or short of memory comes back by itself, and what it
# was doing for nobody goes on.
# shellcheck disable=SC2317 # expect calls them
# shellcheck source=tests/images/systemd/lib.sh
. "${0%/*}/lib.sh"

other_pid() {
	local now
	now=$(property MainPID "$1")
	[[ $now != "$pid" && $now != 0 ]] && echo another
}

kill_hard() {
	pid=$(property MainPID "$1")
	systemctl kill -s KILL --kill-who=main "$1"
	expect "$1, killed, is followed by another" another other_pid "$1"
}

restarted() {
	local now
	now=$(property NRestarts "$1")
	((now >= $2)) && echo often
}

expect 'it is up' '"ok"' is_up
id=$(sbxctl run sbx:plain)
begin_stream "$id" 5 redis
holds 'Redis restarts' systemctl restart sbx-redis
expect 'a call is answered again' 200 status_of "$api/runs/$id"
holds 'a stream knows nothing of it' whole "$stream_pid" 5 redis

begin_stream "$id" 5 reload
holds 'nginx reloads' systemctl reload sbx-nginx
holds 'a call is answered' test "$(status_of "$api/runs/$id")" == 200
holds 'a stream knows nothing of it' whole "$stream_pid" 5 reload

begin_stream "$id" 5 reaper
dying=$(sbxctl run sbx:plain --ttl 12)
kill_hard sbx-reaper
holds 'a stream knows nothing of it' whole "$stream_pid" 5 reaper
expect 'a run ends at its deadline all the same' 404 status_of "$api/runs/$dying"
kill_hard sbx-app-control@1
holds 'others answer meanwhile' test "$(status_of "$api/runs/$id")" == 200
kill_hard sbx-app-stream@2
holds 'others execute meanwhile' sbxctl exec "$id" -- true
kill_hard sbx-nginx
expect 'a call is answered' 200 status_of "$api/runs/$id"
kill_hard sbx-redis
expect 'a call is answered' 200 status_of "$api/runs/$id"

# 600 threads take more than that.
drop_in=/run/systemd/system/sbx-app-stream@2.service.d
mkdir -p $drop_in
printf '[Service]\nMemoryMax=8M\n' >$drop_in/memory.conf
systemctl daemon-reload
systemctl restart sbx-app-stream@2
expect 'a worker without memory is killed and started again and again' often \
	restarted sbx-app-stream@2 2
for _ in 1 2 3 4 5 6 7 8 9 10; do
	sbxctl exec "$id" -- true || tell failed 'others execute meanwhile'
done
rm -r $drop_in
systemctl daemon-reload
expect 'with memory it starts by itself' active systemctl is-active sbx-app-stream@2

echo 'SBX_DRAIN_SEC=soon' >>"$env_file"
systemctl restart sbx-app-control@2
expect 'a worker that cannot start tries again, more often than five times' often \
	restarted sbx-app-control@2 6
holds 'others answer meanwhile' test "$(status_of "$api/runs/$id")" == 200
cp /root/env.first "$env_file"
expect 'and starts when it can' active systemctl is-active sbx-app-control@2
finish
