# shellcheck shell=bash disable=SC2154
# `teploy-sandbox serve`: what it starts, in which order, and how it goes down.
# Sourced by teploy-sandbox, which set here, run, front, logs, url and SBX_*.

# shellcheck disable=SC2034 # children.sh reads it
child_program=([redis]=redis-server [app]=sbx-app [reaper]=sbx-reaper [nginx]=nginx)

# What children.sh starts: fills its command[].
# shellcheck disable=SC2034
child_command() {
	case $1 in
	redis)
		# No port, no snapshot beside the append-only file, nothing evicted:
		# what is decided stays decided. A client is a worker's thread.
		command=(--reuid "$redis_user" --regid "$redis_user" --clear-groups redis-server
			--port 0 --unixsocket "$run/redis/redis.sock" --unixsocketperm 700
			--dir "$SBX_STATE_DIR/redis" --appendonly yes --save ""
			--maxmemory-policy noeviction --maxclients 50000 --daemonize no)
		;;
	reaper) command=("$here/sbx-reaper") ;;
	app) command=("$here/sbx-app" --processes "$SBX_WORKERS") ;;
	nginx) command=(nginx -e stderr -c "$front/nginx.conf") ;;
	esac
}

private_redis() {
	[[ $SBX_REDIS_URL == "unix://$run/redis.sock" ]]
}

# Lock file $2, open as descriptor $1, or refuse, saying what it stands for ($3)
# and what helps ($4). The lock goes with the process, however it ends; a command
# that a killed one had just started may hold it a moment longer.
take_lock() {
	local holder deadline=$((SECONDS + 10))
	until flock -n "$1"; do
		holder=$(<"$2")
		if [[ -d /proc/${holder:-none} ]] || ((SECONDS >= deadline)); then
			say "another teploy-sandbox serve (pid ${holder:-unknown}) runs on $3" >&2
			die "stop it, or set $4"
		fi
		pause 0.05
	done
	echo $$ >"$2"
}

# One serve per RUN_DIR and one per STATE_DIR, where children_end_leftovers
# would end another's children and two Redis would write the same data. The
# names differ, as the two may be one directory; only root may hold the second.
take_locks() {
	local state=$SBX_STATE_DIR/state.lock
	install -d -m 0711 "$run" "$SBX_STATE_DIR" || die "cannot make $run and $SBX_STATE_DIR"
	exec 9<>"$run/serve.lock" || die "cannot open $run/serve.lock"
	take_lock 9 "$run/serve.lock" "SBX_RUN_DIR ($run)" \
		"SBX_RUN_DIR, SBX_STATE_DIR, SBX_TOKEN_FILE, SBX_CACHE_ROOT and SBX_ADDR to others"
	(umask 077 && : >>"$state")
	exec 7<>"$state" || die "cannot open $state"
	take_lock 7 "$state" "SBX_STATE_DIR ($SBX_STATE_DIR)" \
		"SBX_STATE_DIR to a directory of this one's own"
}

# The units of `make install` have the same paths.
refuse_beside_units() {
	[[ $run == /run/teploy-sandbox || $logs == /var/lib/teploy-sandbox/log ]] || return 0
	! systemctl -q is-active sbx.target sbx-app-control.socket sbx-app-stream.socket 2>/dev/null ||
		die "sbx.target runs on /run/teploy-sandbox and /var/lib/teploy-sandbox: use that, stop it (systemctl stop sbx.target), or set SBX_RUN_DIR and SBX_STATE_DIR to others"
}

# User $1 must be able to enter directory $2, whatever its parents' modes are.
check_reach() {
	setpriv --reuid "$1" --regid "$2" --clear-groups test -x "$3" ||
		die "the user $1 cannot enter $3: give its parents the mode 0711 or 0755"
}

make_directories() {
	redis_user=redis
	getent passwd redis >/dev/null || redis_user=root # not Debian's package
	install -d -m 0711 "$front" || exit 1
	install -d -m 0750 "$logs" || exit 1
	install -d -m 0700 "$run/runs" || exit 1
	check_reach www-data "$SBX_SOCKET_GROUP" "$front"
	rm -f "$run/control.sock" "$run/stream.sock" "$run/redis.sock"
	private_redis || return 0
	# Redis makes its socket itself, so its directory is its own.
	install -d -m 0700 -o "$redis_user" -g "$redis_user" "$run/redis" "$SBX_STATE_DIR/redis" || exit 1
	check_reach "$redis_user" "$redis_user" "$SBX_STATE_DIR/redis"
	check_reach "$redis_user" "$redis_user" "$run/redis"
	rm -f "$run/redis/redis.sock"
	ln -s redis/redis.sock "$run/redis.sock"
}

check_port_free() {
	local host=${url#http://}
	local port=${host##*:}
	host=${host%:*}
	host=${host//[][]/}
	if (exec 8<>"/dev/tcp/$host/$port") 2>/dev/null; then
		die "something already listens on $SBX_ADDR: stop it, or choose another with --addr"
	fi
}

# Start child $1 and wait until command $3... succeeds, at most $2 seconds.
start_and_await() {
	local name=$1 deadline=$((SECONDS + $2)) before words
	shift 2
	before=$(stat -c %s "$logs/$name.log" 2>/dev/null)
	child_start "$name"
	until "$@"; do
		if ! child_alive "$name" || ((SECONDS >= deadline)); then
			words=$(tail -c +$((before + 1)) "$logs/$name.log" | tail -n 5)
			take_down
			printf '%s\n' "$words" >&2 # beside what follows from it
			die "$name did not start; its log is $logs/$name.log"
		fi
		if ((stopping)); then
			take_down
			exit 0
		fi
		pause 0.05
	done
}

redis_answers() {
	[[ $(redis-cli -s "$run/redis.sock" ping 2>/dev/null) == PONG ]]
}

workers_listen() {
	[[ -S $run/control.sock && -S $run/stream.sock ]]
}

api_answers() {
	[[ $(status_of /health) == 200 ]]
}

start_everything() {
	say "version $(version) on $SBX_SERVER"
	# Detached, a new engine must not keep the locks (7, 9).
	"$here/engine.sh" ensure "$SBX_DOCKER_SOCKET" 7>&- 9>&- || exit 1
	say "Docker     answers on $SBX_DOCKER_SOCKET"
	if private_redis; then
		start_and_await redis 120 redis_answers
		say "Redis      of its own, data in $SBX_STATE_DIR/redis"
	else
		say "Redis      as SBX_REDIS_URL says"
	fi
	start_and_await app 30 workers_listen
	say "workers    $SBX_WORKERS of $SBX_STREAM_THREADS threads for streams," \
		"$SBX_WORKERS of $SBX_CONTROL_THREADS for short calls"
	start_and_await reaper 1 true
	say "reaper     sweeps every $SBX_REAP_INTERVAL s"
	start_and_await nginx 15 api_answers
	say "nginx      serves $url"
}

show_use() {
	say "token      in $SBX_TOKEN_FILE${minted:+, made just now}"
	say "logs       in $logs"
	[[ $(stat -f -c %T "$run") == tmpfs ]] ||
		say "note: $run is no tmpfs: environment values of runs touch the disk"
	[[ $(status_of /health/ready) == 200 ]] ||
		say "not ready yet: $(api "$url/health/ready")"
	local runs='runs stay until their time is up'
	((!destroy_runs)) || runs='and destroys the runs'
	cat <<-EOF

		Try it:
		  $here/sbxctl --url $url --token-file $SBX_TOKEN_FILE \\
		    run debian:12 --rm -- echo hello
		(or an image that is here: make image makes "teploy-busybox")
		Ctrl-C stops all of this; $runs.

	EOF
}

# A line on the terminal for each request that a worker finished. It ends with
# serve (tail --pid).
show_requests() {
	local time='"time":"[^T]*T\([0-9:]*\)' method='"method":"\([^"]*\)"'
	local path='"path":"\([^"]*\)"' status='"status":\([0-9]*\)' ms='"ms":\([0-9.]*\)'
	tail -q -n 0 -F --pid=$$ "$logs/app.log" 2>/dev/null 7>&- 9>&- |
		sed -un "s|.*$time.*\"request.done\".*$method,$path,$status.*$ms.*|\1  \4  \2 \3  \5 ms|p" 7>&- 9>&- &
}

# The runs of this stack, as a list for curl's braces.
run_ids() {
	api_as "$1" "$url/v1/runs" | grep -oE '"id":"[0-9A-Z]{26}"' | cut -d'"' -f4 | paste -sd,
}

# Destroy every run, through the API, which alone knows how. A run that is
# being made is not listed yet: hence more than one try.
destroy_all_runs() {
	local token ids tries=3
	token=$(tokens | head -n 1)
	while ids=$(run_ids "$token") && [[ -n $ids ]]; do
		if ((tries-- == 0 || stopping > 1)); then
			say "some runs could not be destroyed: see $logs/app.log"
			return
		fi
		say "destroying the runs $ids"
		api_as "$token" -X DELETE -Z --parallel-max 8 "$url/v1/runs/{$ids}" >/dev/null
	done
}

# Nothing new comes in, then what is in flight ends, then what it stood on.
take_down() {
	((!destroy_runs)) || ! api_answers || destroy_all_runs
	say "stopping: requests in flight have $SBX_DRAIN_SEC s (again: stop at once)"
	child_signal nginx QUIT
	child_signal app TERM
	child_signal reaper TERM
	child_await_end app $((SBX_DRAIN_SEC + 12))
	child_signal nginx TERM
	child_await_end nginx 5
	child_await_end reaper 10
	child_signal redis TERM
	child_await_end redis 20
	rm -f "$run/control.sock" "$run/stream.sock" "$run/redis.sock"
	say "stopped"
}

serve() {
	local minted='' program
	[[ $EUID -eq 0 ]] || die "serve needs root: it starts containers, and programs under users of their own"
	for program in nginx redis-server redis-cli curl; do
		command -v "$program" >/dev/null || die "$program is not installed: make deps does it"
	done
	ulimit -n 1048576 2>/dev/null || ulimit -n "$(ulimit -Hn)"
	refuse_beside_units
	take_locks
	children_end_leftovers
	token_mint
	make_directories
	logs_rotate
	check_port_free
	render "$front"
	nginx_test "$front" || die "nginx refuses its configuration in $front"
	trap '((++stopping))' INT TERM HUP
	start_everything
	show_use
	[[ ! -t 1 ]] || show_requests
	children_watch
	take_down
}
