#!/bin/bash
# In a container of systemd.sh: allowlist runs whose proxies are systemd's
# (SBX_EGRESS_START), on loopback and over a network of their own.
# shellcheck disable=SC2317 # expect calls them
set -u
failed=0
api=http://127.0.0.1:7439/v1
fetch="p=\${http_proxy#*//}; printf 'GET http://denied.test/ HTTP/1.1\\\\r\\\\nHost: x\\\\r\\\\n\\\\r\\\\n'"
fetch+=" | nc -w 5 \${p%:*} 3128 | head -1"

# $2 comes out of the command behind it within 20 s; $1 says what that is.
expect() {
	local what=$1 want=$2 got deadline=$((SECONDS + 20))
	shift 2
	until got=$("$@" 2>&1) && [[ $got == *"$want"* ]] || ((SECONDS >= deadline)); do
		sleep 0.2
	done
	if [[ $got == *"$want"* ]]; then
		echo "ok: $what"
	else
		echo "FAILED: $what: $got"
		failed=1
	fi
}

call() {
	curl -s -H "Authorization: Bearer $(head -n1 /deployments/sandbox/token)" "$@"
}

refused() {
	call "$api/runs/$id/exec" -d "{\"cmd\":\"$fetch\"}"
}

state_of() {
	systemctl show -p ActiveState "$@"
}

other_proxy() {
	local now
	now=$(systemctl show -p MainPID --value "sbx-proxy@$id")
	[[ $now != "$pid" && $now != 0 ]] && echo another
}

story() {
	local pid
	call "$api/runs" -d '{"image":"sbx:plain","network":"allowlist"}' >/tmp/run
	id=$(grep -o '"id":"[^"]*' /tmp/run | cut -d'"' -f4)
	expect "$1: a run has a proxy" ActiveState=active state_of "sbx-proxy@$id"
	expect "$1: which refuses" '403 Forbidden' refused
	pid=$(systemctl show -p MainPID --value "sbx-proxy@$id")
	systemctl kill -s KILL "sbx-proxy@$id"
	expect "$1: one that was killed is followed by another" another other_proxy
	pid=$(systemctl show -p MainPID --value "sbx-proxy@$id")
	rm "/run/teploy-sandbox/runs/$id/egress.sock"
	expect "$1: so is one that nobody finds" another other_proxy
	systemctl restart "sbx-proxy@$id"
	expect "$1: and one that was restarted refuses" '403 Forbidden' refused
	systemctl stop sbx.target
	expect "$1: it outlives the target" ActiveState=active state_of "sbx-proxy@$id"
	systemctl start sbx.target
	expect "$1: the run ends" 204 call -o /dev/null -w '%{http_code}' -X DELETE "$api/runs/$id"
	expect "$1: and so has the proxy" '0 loaded units' \
		systemctl --no-pager list-units --all 'sbx-proxy@*'
}

expect 'it is up' '"ok"' curl -s http://127.0.0.1:7439/health/ready
story netns
echo SBX_EGRESS_MODE=bridge >>/etc/teploy-sandbox/env
systemctl restart sbx-reaper 'sbx-app-*@*'
story bridge
expect 'no network is left' 3 sh -c 'docker network ls -q | wc -l'
expect 'nothing failed' '0 loaded units' systemctl --no-pager --failed
exit "$failed"
