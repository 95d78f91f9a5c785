#!/bin/bash
# shellcheck disable=SC2317 # holds and expect call them
# All units are up, as what they say; what each could reach is little; who reads
# the journal finds what he looks for.
# shellcheck source=tests/images/systemd/lib.sh
. "${0%/*}/lib.sh"

units() {
	systemctl list-units --plain --no-legend 'sbx-*' | awk '{ print $1 }'
}

# Exposure of unit $1 is 4.0 at most, as it runs.
confined() {
	systemd-analyze security --no-pager --threshold=40 "$1"
}

# Neither may be read by others.
modes() {
	[[ $(stat -c %a /run/teploy-sandbox /var/lib/teploy-sandbox /etc/teploy-sandbox/env | paste -sd' ') == '711 711 600' ]]
}

limited() {
	[[ $(property MemoryMax "$1") -le $((2 << 30)) && $(property TasksMax "$1") -le 4200 ]]
}

logged() {
	journal "$since" | grep -F "$1" | grep -m1 -F "$2"
}

wants='sbx-app-control@1.service sbx-app-control@2.service sbx-app-control.socket'
wants+=' sbx-app-stream@1.service sbx-app-stream@2.service sbx-app-stream.socket'
wants+=' sbx-nginx.service sbx-reaper.service sbx-redis.service'
since=$(now)
expect 'it is up' '"ok"' is_up
for unit in $wants; do
	holds "$unit is active" is_active "$unit"
done
id=$(sbxctl run sbx:plain --network allowlist)
expect 'a worker reaches the socket of a run' socket \
	redis-cli -s /run/teploy-sandbox/redis.sock HGET "sbx:run:$id" transport
for unit in $(units | grep 'service$'); do
	holds "$unit is exposed to 4.0 at most ($(confined "$unit" | grep -o 'level for.*: [0-9.]*' | grep -o '[0-9.]*$'))" \
		confined "$unit"
	[[ $unit == sbx-redis.service ]] ||
		holds "$unit has a limit of memory and tasks" limited "$unit"
done
holds 'directories are passed through, not read' modes

expect 'a refused token is logged by nginx' 401 \
	curl -s -o /dev/null -w '%{http_code}' -H 'X-Request-Id: bad-one' $api/runs
expect 'with the request id' '\"request\":\"bad-one\"' logged sbx_nginx bad-one
call -H 'X-Request-Id: good-one' $api/runs -d '{"image":"sbx:plain"}' >"$work/run"
made=$(grep -o '"id":"[^"]*' "$work/run" | cut -d'"' -f4)
expect 'a worker logs the id and the run that it made' "\\\"run\\\":\\\"$made\\\"" \
	logged sbx-app '"good-one' 
expect 'what went well is PRIORITY 6' '6 ' logged sbx-app good-one
expect 'a proxy logs the run that it is for' 'proxy.started' \
	logged sbx-proxy "run\\\":\\\"$id"
systemctl stop sbx-redis
expect 'without Redis there is a 503' 503 status_of -H 'X-Request-Id: ill-one' $api/runs
expect 'which a worker logs as PRIORITY 3' '3 ' logged sbx-app ill-one
expect 'the reaper says as PRIORITY 3 that Redis is away' '3 ' logged sbx-reaper redis.lost
systemctl start sbx-redis
expect 'and, as information, that it is back' '6 ' logged sbx-reaper redis.found
echo 'SBX_DRAIN_SEC=soon' >>"$env_file"
systemctl restart sbx-app-control@2
expect 'the reason of a start that failed is PRIORITY 3' '3 ' logged sbx-app 'SBX_DRAIN_SEC'
cp /root/env.first "$env_file"
expect 'mended, it starts by itself' active systemctl is-active sbx-app-control@2
chmod 644 /deployments/sandbox/token
systemctl restart sbx-nginx
expect 'so is why nginx does not start' '3 ' logged teploy-sandbox 'is open to others'
chmod 600 /deployments/sandbox/token
expect 'mended, it starts by itself' '"ok"' is_up
finish
