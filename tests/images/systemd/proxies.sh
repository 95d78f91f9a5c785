#!/bin/bash
# Allowlist runs whose proxies are systemd's (SBX_EGRESS_START), on loopback and
# over a network of their own.
# shellcheck disable=SC2317 # expect calls them
# shellcheck source=tests/images/systemd/lib.sh
. "${0%/*}/lib.sh"
fetch="p=\${http_proxy#*//}; printf 'GET http://denied.test/ HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n'"
fetch+=" | nc -w 5 \${p%:*} 3128 | head -1"

refused() {
	sbxctl exec "$id" -- sh -c "$fetch"
}

other_proxy() {
	local now
	now=$(property MainPID "sbx-proxy@$id")
	[[ $now != "$pid" && $now != 0 ]] && echo another
}

story() {
	local pid
	id=$(sbxctl run sbx:plain --network allowlist)
	expect "$1: a run has a proxy" active systemctl is-active "sbx-proxy@$id"
	expect "$1: which refuses" '403 Forbidden' refused
	expect "$1: and logs what it decided" 'denied.test' timeout 2 sbxctl egress log "$id"
	pid=$(property MainPID "sbx-proxy@$id")
	systemctl kill -s KILL "sbx-proxy@$id"
	expect "$1: one that was killed is followed by another" another other_proxy
	pid=$(property MainPID "sbx-proxy@$id")
	rm "/run/teploy-sandbox/runs/$id/egress.sock"
	expect "$1: so is one that nobody finds" another other_proxy
	systemctl restart "sbx-proxy@$id"
	expect "$1: and one that was restarted refuses" '403 Forbidden' refused
	pid=$(property MainPID "sbx-proxy@$id")
	systemctl stop sbx.target
	systemctl isolate multi-user.target
	holds "$1: it outlives the target, and systemctl isolate" \
		test "$pid" == "$(property MainPID "sbx-proxy@$id")"
	systemctl start sbx.target
	expect "$1: all is up again" '"ok"' is_up
	holds "$1: the run ends" sbxctl rm "$id"
	expect "$1: and so has the proxy" '0 loaded units' \
		systemctl --no-pager list-units --all 'sbx-proxy@*'
}

expect 'it is up' '"ok"' is_up
story netns
echo SBX_EGRESS_MODE=bridge >>"$env_file"
systemctl restart sbx-reaper 'sbx-app-*@*'
story bridge
cp /root/env.first "$env_file"
systemctl restart sbx-reaper 'sbx-app-*@*'
expect 'no network is left' 3 sh -c 'docker network ls -q | wc -l'
finish
