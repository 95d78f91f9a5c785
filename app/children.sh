# shellcheck shell=bash disable=SC2154
# The processes of `teploy-sandbox serve`: start them, start again what dies,
# end them. Sourced.
#
# A child leads a session of its own, so that Ctrl-C reaches serve alone, and
# gets SIGTERM when serve dies (PR_SET_PDEATHSIG). Its standard error is
# $logs/NAME.log: by that, and by its program's name, it and all that it left
# behind are found again, by the next serve too. Numbers would not do: a pid
# that a file remembers may be a stranger's by now.
#
# The sourcing script sets logs (a directory) and child_program[NAME], and
# defines say TEXT, and child_command NAME, which fills command[].

declare -A child_pid=() child_since=() child_delay=() child_due=() child_program=()
child_names=() # in the order of their start
stopping=0     # 1: the user asked for the end, 2: asked again, at once
LOG_MAX=$((64 << 20))
exec {never}<> <(:) # never has anything to read

# Wait for $1 seconds without a process; signals interrupt it.
pause() {
	read -rt "$1" -u "$never" || :
}

now_ms() {
	echo $((${EPOCHREALTIME/[.,]/} / 1000))
}

child_alive() {
	[[ -n ${child_pid[$1]-} ]] && kill -0 "${child_pid[$1]}" 2>/dev/null
}

# Pids of child $1 and of whatever it or an earlier one left.
child_pids() {
	local pid comm
	for pid in $(find /proc/[0-9]*/fd/2 -maxdepth 0 -lname "$logs/$1.log*" 2>/dev/null |
		cut -d/ -f3); do
		{ read -r comm <"/proc/$pid/comm"; } 2>/dev/null || continue
		[[ $comm != "${child_program[$1]}" ]] || echo "$pid"
	done
}

# Signal $2 to all of them.
child_signal_all() {
	local pid
	for pid in $(child_pids "$1"); do
		kill "-$2" "$pid" 2>/dev/null
	done
}

child_signal() {
	! child_alive "$1" || kill "-$2" "${child_pid[$1]}"
}

child_start() {
	local name=$1 command=()
	child_command "$name"
	# 7 and 9 are serve's locks: they must be free when serve is gone.
	setsid setpriv --pdeathsig TERM "${command[@]}" \
		>>"$logs/$name.log" 2>&1 </dev/null 7>&- 9>&- {never}>&- &
	child_pid[$name]=$!
	child_since[$name]=$(now_ms)
	[[ " ${child_names[*]-} " == *" $name "* ]] || child_names+=("$name")
}

# Wait until nothing of child $1 lives, at most $2 seconds; then kill the rest.
child_await_end() {
	local deadline=$((SECONDS + $2))
	while child_alive "$1" || [[ -n $(child_pids "$1") ]]; do
		if ((stopping > 1 || SECONDS >= deadline)); then
			child_signal "$1" KILL
			child_signal_all "$1" KILL
		fi
		pause 0.05
	done
	unset "child_pid[$1]"
}

# Why a process ended, from its exit status.
ending() {
	if (($1 > 128)); then
		echo "killed by SIG$(kill -l $(($1 - 128)))"
	else
		echo "exit $1"
	fi
}

# A child is gone: say so, and decide when it is started again. What it left
# (workers of a killed master) gives the sockets up and finishes its streams.
child_mourn() {
	local name=$1 status=0 lived signal=TERM
	wait "${child_pid[$name]}" 2>/dev/null # bash would report the signal
	status=$?
	unset "child_pid[$name]"
	[[ $name != nginx ]] || signal=QUIT # its TERM would cut them
	child_signal_all "$name" "$signal"
	lived=$(($(now_ms) - child_since[$name]))
	if ((lived > 10000)); then
		child_delay[$name]=0
	else
		child_delay[$name]=$((child_delay[$name] * 2 + 100))
		((child_delay[$name] <= 20000)) || child_delay[$name]=20000
	fi
	child_due[$name]=$(($(now_ms) + child_delay[$name]))
	say "$name ended ($(ending $status)); starting it again in ${child_delay[$name]} ms"
}

children_check() {
	local name
	for name in "${child_names[@]}"; do
		child_alive "$name" && continue
		[[ -z ${child_pid[$name]-} ]] || child_mourn "$name"
		(($(now_ms) < child_due[$name])) || child_start "$name"
	done
}

# A log past LOG_MAX becomes NAME.log.1; writers append, so they need no signal.
logs_rotate() {
	local log
	for log in "$logs"/*.log; do
		if [[ -f $log ]] && (($(stat -c %s "$log") > LOG_MAX)); then
			cp -p "$log" "$log.1" && : >"$log"
		fi
	done
}

# Watch until stopping. Traps only count: bash's `read -t`, which pauses, does
# not bear another one inside a handler.
children_watch() {
	local turn=0
	while ((!stopping)); do
		children_check
		pause 0.1
		((++turn % 600 > 0)) || logs_rotate
	done
}

# End what an earlier serve, killed, left running.
children_end_leftovers() {
	local name
	for name in "${!child_program[@]}"; do
		[[ -n $(child_pids "$name") ]] || continue
		say "ending the $name that an earlier serve left running"
		child_signal_all "$name" TERM
		child_await_end "$name" 20
	done
}
