#!/bin/bash
# A Docker engine, where none answers.
#
#   engine.sh ensure [SOCKET]  the box's own engine, started if it must be
#   engine.sh start DIR        a private engine wholly under DIR, for tests:
#                              DIR/docker.sock, a bridge and a subnet of its own;
#                              SBX_ENGINE_CONFIG is its daemon.json ({})
#   engine.sh resume DIR       start that one again after its dockerd ended: as a
#                              restart, over all that it left
#   engine.sh stop DIR         end that one; nothing of it stays running,
#                              mounted or routed (its data stays in DIR)
#
# Each returns once it is done, or fails saying why. The engine is detached: it
# outlives the caller, as runs outlive `teploy-sandbox serve`.
set -uo pipefail
PATH=$PATH:/usr/sbin:/sbin # a root shell may lack them

BOX_SOCKET=/var/run/docker.sock
WAIT_SEC=60

fail() {
	echo "engine.sh: $*" >&2
	exit 1
}

# An engine answers on socket $1.
answers() {
	[[ $(curl -qs --noproxy '*' --max-time 5 --unix-socket "$1" http://engine/_ping 2>/dev/null) == OK ]]
}

# Process $1 is alive and runs program $2.
runs_program() {
	local name state
	[[ $1 =~ ^[0-9]+$ ]] || return 1
	{ read -r name <"/proc/$1/comm" && state=$(<"/proc/$1/stat"); } 2>/dev/null || return 1
	state=${state##*) }
	[[ $name == "$2" && ${state:0:1} != Z ]]
}

# The pid in file $1, if it is a live process of program $2.
live_pid() {
	local pid
	{ read -r pid <"$1" || [[ -n ${pid-} ]]; } 2>/dev/null || return 1
	runs_program "$pid" "$2" && echo "$pid"
}

# dockerd refuses to start, and waits for a dead containerd, over a pid file
# whose number some other process has by now.
drop_stale_pid() {
	[[ -e $1 ]] && ! live_pid "$1" "$2" >/dev/null && rm -f "$1"
}

# dockerd takes a socket file at this path for a running containerd.
drop_stale_socket() {
	[[ -S $1 ]] || return 0
	curl -qs --noproxy '*' --max-time 2 --unix-socket "$1" http://containerd/ >/dev/null 2>&1
	[[ $? -ne 7 ]] || rm -f "$1" # 7: nobody listens there
}

# Wait for an answer on socket $1 while process $2 lives; $3 is its log.
await() {
	local deadline=$((SECONDS + WAIT_SEC))
	until answers "$1"; do
		# Its name is another's until setsid(1) has become it.
		if ! kill -0 "$2" 2>/dev/null; then
			tail -n 5 "$3" >&2
			fail "dockerd ended instead of serving $1; its log is $3"
		fi
		((SECONDS < deadline)) ||
			fail "dockerd does not answer on $1 after ${WAIT_SEC} s; its log is $3"
		sleep 0.1
	done
}

# -- the box's engine ---------------------------------------------------------
start_box_dockerd() {
	local pid log=/var/log/dockerd.log
	if ! pid=$(live_pid /var/run/docker.pid dockerd); then
		drop_stale_pid /var/run/docker.pid dockerd
		drop_stale_pid /var/run/docker/containerd/containerd.pid containerd
		drop_stale_socket /run/containerd/containerd.sock
		setsid dockerd -H "unix://$BOX_SOCKET" >>"$log" 2>&1 </dev/null &
		pid=$!
	fi
	await "$BOX_SOCKET" "$pid" "$log"
}

start_box_unit() {
	systemctl start docker || fail "systemd could not start Docker: see journalctl -u docker"
	local deadline=$((SECONDS + WAIT_SEC))
	until answers "$BOX_SOCKET"; do
		((SECONDS < deadline)) ||
			fail "Docker does not answer on $BOX_SOCKET: see journalctl -u docker"
		sleep 0.1
	done
}

ensure() {
	local socket=${1:-$BOX_SOCKET}
	answers "$socket" && return
	[[ $(readlink -m "$socket") == "$(readlink -m "$BOX_SOCKET")" ]] ||
		fail "no Docker engine answers on $socket: start it, or unset SBX_DOCKER_SOCKET to use the box's own"
	[[ $EUID -eq 0 ]] || fail "no Docker engine answers on $socket, and starting one needs root"
	command -v dockerd >/dev/null ||
		fail "Docker is not installed: apt-get install docker.io"
	if [[ -d /run/systemd/system ]]; then
		start_box_unit
	else
		start_box_dockerd
	fi
}

# -- a private engine ---------------------------------------------------------
# Sets what follows from directory $1. Two engines with iptables on remove each
# other's chains, so a private one has them off and brings its own three rules.
private_names() {
	local sum
	dir=$(readlink -m "$1")
	sum=$(printf %s "$dir" | cksum)
	sum=${sum%% *}
	tag=sbx$((sum % 1000000))
	subnet=10.$((sum % 64 + 128)).$((sum / 64 % 256))
}

# Each rule once, with -I or -D as $1.
private_rules() {
	iptables -w -t nat "$1" POSTROUTING -s "$subnet.0/24" ! -o "$tag" -j MASQUERADE
	iptables -w "$1" FORWARD -i "$tag" -j ACCEPT
	iptables -w "$1" FORWARD -o "$tag" -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
}

make_bridge() {
	if ! ip link add "$tag" type bridge || ! ip addr add "$subnet.1/24" dev "$tag" ||
		! ip link set "$tag" up; then
		fail "cannot make the bridge $tag"
	fi
	private_rules -I || echo "engine.sh: without iptables, no NAT for $dir" >&2
}

launch_private() {
	drop_stale_pid "$dir/docker.pid" dockerd
	drop_stale_pid "$dir/exec/containerd/containerd.pid" containerd
	drop_stale_socket "$dir/exec/containerd/containerd.sock"
	# A namespace, in case a containerd of the box is there to be shared.
	setsid dockerd --config-file "$dir/daemon.json" -H "unix://$dir/docker.sock" \
		--data-root "$dir/data" --exec-root "$dir/exec" -p "$dir/docker.pid" \
		--containerd-namespace "$tag" --containerd-plugins-namespace "$tag-plugins" \
		--bridge "$tag" --iptables=false --ip-masq=false \
		>>"$dir/dockerd.log" 2>&1 </dev/null &
	await "$dir/docker.sock" $! "$dir/dockerd.log"
}

start_private() {
	private_names "$1"
	answers "$dir/docker.sock" && return
	stop_private "$dir"
	mkdir -p "$dir"
	echo "${SBX_ENGINE_CONFIG:-{\}}" >"$dir/daemon.json"
	make_bridge
	launch_private
}

resume_private() {
	private_names "$1"
	[[ -e $dir/daemon.json ]] || fail "there was no engine in $dir"
	answers "$dir/docker.sock" || launch_private
}

# Pids of the containerd and shims of this engine.
private_children() {
	local file words
	for file in /proc/[0-9]*/cmdline; do
		{ words=$(tr '\0' ' ' <"$file"); } 2>/dev/null
		if [[ $words == containerd*" $dir/exec/"* || $words == *containerd-shim*" $tag "* ||
			$words == *containerd-shim*" $dir/exec/"* ]]; then
			basename "${file%/cmdline}"
		fi
	done
}

# A killed dockerd leaves its containerd, the shims and their containers.
kill_children() {
	local pid child stat fields
	for pid in $(private_children); do
		for stat in /proc/[0-9]*/stat; do
			read -r child 2>/dev/null <"$stat" || continue
			read -ra fields <<<"${child##*) }"
			[[ ${fields[1]} == "$pid" ]] && kill -KILL "${child%% *}" 2>/dev/null
		done
		kill -KILL "$pid" 2>/dev/null
	done
}

unmount_all() {
	local target
	tac /proc/self/mounts | while read -r _ target _; do
		[[ $target == "$dir"/* ]] && umount -l "$target"
	done
}

end_dockerd() {
	local pid deadline=$((SECONDS + 30))
	pid=$(live_pid "$dir/docker.pid" dockerd) || return 0
	kill -TERM "$pid"
	while runs_program "$pid" dockerd; do
		((SECONDS < deadline)) || kill -KILL "$pid" 2>/dev/null
		sleep 0.05
	done
}

stop_private() {
	private_names "$1"
	end_dockerd
	kill_children
	rm -f "$dir/docker.sock" "$dir/docker.pid"
	rm -f "$dir/exec/containerd/containerd.pid" "$dir/exec/containerd/containerd.sock"
	unmount_all
	if [[ -e /sys/class/net/$tag ]]; then
		ip link del "$tag"
		private_rules -D 2>/dev/null
	fi
	return 0
}

case ${1-}/$# in
ensure/[12]) ensure "${2-}" ;;
start/2) start_private "$2" ;;
resume/2) resume_private "$2" ;;
stop/2) stop_private "$2" ;;
*) fail "use: ensure [SOCKET] | start DIR | resume DIR | stop DIR" ;;
esac
