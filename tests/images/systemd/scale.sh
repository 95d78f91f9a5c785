#!/bin/bash
# shellcheck disable=SC2317 # holds calls them
# One worker more takes requests at once, nginx hearing nothing of it; one that
# is stopped ends its streams first; with none left a request starts one.
# shellcheck source=tests/images/systemd/lib.sh
. "${0%/*}/lib.sh"

front() {
	pgrep -P "$(property MainPID sbx-nginx)" | paste -sd' '
}

serves_at_once() {
	[[ $(timeout 10 sbxctl exec "$id" -- echo here) == here ]]
}

# Nothing but time ends these.
fill() {
	local i
	for i in 1 2; do
		begin_stream "$id" 20 "fill$i"
		filler+=("$stream_pid")
	done
}

echo 'SBX_STREAM_THREADS=1' >>"$env_file"
systemctl restart 'sbx-app-*@*'
expect 'it is up' '"ok"' is_up
id=$(sbxctl run sbx:plain)
before=$(front) filler=()
fill
timeout 2 sbxctl exec "$id" -- echo here >/dev/null
holds 'two workers of one thread are busy' test $? -eq 124
systemctl start sbx-app-stream@5
holds 'a fifth serves at once' serves_at_once
begin_stream "$id" 4 last
holds 'systemctl stop of it' systemctl stop sbx-app-stream@5
holds 'ended its stream first' whole "$stream_pid" 4 last
for i in 1 2; do
	holds "and cut no other ($i)" whole "${filler[i - 1]}" 20 "fill$i"
done
holds 'nginx heard nothing of it' test "$before" == "$(front)"
cp /root/env.first "$env_file"

systemctl start sbx-app-stream@{3..8} sbx-app-control@{3..8}
for unit in sbx-app-{stream,control}@{3..8}; do
	holds "$unit is active" is_active "$unit"
done
expect 'nginx has connections for 3 per thread of 16' 'worker_connections 16192;' \
	cat /run/teploy-sandbox/nginx/nginx.conf
expect 'all is well' '"ok"' is_up
systemctl stop -q 'sbx-app-*@*'
holds 'none is left' test -z "$(pgrep sbx-app)"
holds 'a request starts the first control worker' test "$(status_of $api/runs)" == 200
holds 'and an exec the first stream worker' serves_at_once
holds 'which are' is_active sbx-app-control@1 sbx-app-stream@1
systemctl start sbx.target
expect 'the target brings the others back' active systemctl is-active sbx-app-stream@2
finish
