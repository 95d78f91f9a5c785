# shellcheck shell=bash disable=SC2154
# The processes of `teploy-sandbox serve`: start them, start again what dies,
# end them. Sourced.
#
# A child is known by name and leads a session of its own: Ctrl-C reaches serve
# alone, and what a killed child leaves behind is found by the session. It gets
# SIGTERM when serve dies (PR_SET_PDEATHSIG). $children_file keeps
# "name session" lines, so that the next serve can end what this one left.
#
# The sourcing script sets children_file and logs (a directory), and defines
# say TEXT and child_command NAME, which fills command[].

declare -A child_pid=() child_since=() child_delay=() child_due=()
child_names=()     # in the order of their start
child_sessions=()  # "name session" of each start
stopping=0         # 1: the user asked for the end, 2: asked again, at once
LOG_MAX=$((64 << 20))
exec {never}<> <(:) # never has anything to read

# Wait for $1 seconds without a process; signals interrupt it.
pause() {
	read -rt "$1" -u "$never" || :
}

now_ms() {
	echo $((${EPOCHREALTIME/[.,]/} / 1000))
}

# Live pids of session $1 (zombies are not).
session_pids() {
	local stat line
	for stat in /proc/[0-9]*/stat; do
		{ read -r line <"$stat"; } 2>/dev/null || continue
		# pid (comm) state ppid pgrp session
		[[ $line =~ ^([0-9]+)\ \(.*\)\ [^ZX]\ [0-9]+\ [0-9]+\ ([0-9]+)\  ]] || continue
		[[ ${BASH_REMATCH[2]} != "$1" ]] || echo "${BASH_REMATCH[1]}"
	done
}

child_alive() {
	[[ -n ${child_pid[$1]-} ]] && kill -0 "${child_pid[$1]}" 2>/dev/null
}

child_start() {
	local name=$1 command=()
	child_command "$name"
	# 9 is serve's lock: it must be free when serve is gone.
	setsid setpriv --pdeathsig TERM "${command[@]}" \
		>>"$logs/$name.log" 2>&1 </dev/null 9>&- {never}>&- &
	child_pid[$name]=$!
	child_since[$name]=$(now_ms)
	[[ " ${child_names[*]-} " == *" $name "* ]] || child_names+=("$name")
	child_sessions+=("$name $!")
	echo "$name $!" >>"$children_file"
}

# Signal $2 to the leader of session $1, or to what it left.
session_signal() {
	local pid
	if [[ -d /proc/$1 ]]; then
		kill "-$2" "$1" 2>/dev/null
		return
	fi
	for pid in $(session_pids "$1"); do
		kill "-$2" "$pid" 2>/dev/null
	done
}

# Sessions of child $1, of every start.
sessions_of() {
	local entry
	for entry in "${child_sessions[@]}"; do
		[[ $entry != "$1 "* ]] || echo "${entry#* }"
	done
}

child_signal() {
	local session
	for session in $(sessions_of "$1"); do
		session_signal "$session" "$2"
	done
}

# Wait until nothing of child $1 lives, at most $2 seconds; then kill the rest.
child_await_end() {
	local session pid deadline=$((SECONDS + $2))
	for session in $(sessions_of "$1"); do
		while [[ -n $(session_pids "$session") ]]; do
			if ((stopping > 1 || SECONDS >= deadline)); then
				for pid in $(session_pids "$session"); do
					kill -KILL "$pid" 2>/dev/null
				done
			fi
			pause 0.05
		done
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
	local name=$1 status=0 lived
	wait "${child_pid[$name]}" 2>/dev/null # bash would report the signal
	status=$?
	lived=$(($(now_ms) - child_since[$name]))
	session_signal "${child_pid[$name]}" "$(child_quit_signal "$name")"
	unset "child_pid[$name]"
	if ((lived > 10000)); then
		child_delay[$name]=0
	else
		child_delay[$name]=$((child_delay[$name] * 2 + 100))
		((child_delay[$name] <= 20000)) || child_delay[$name]=20000
	fi
	child_due[$name]=$(($(now_ms) + child_delay[$name]))
	say "$name ended ($(ending $status)); starting it again in ${child_delay[$name]} ms"
}

# The signal that lets requests in flight finish.
child_quit_signal() {
	[[ $1 == nginx ]] && echo QUIT || echo TERM
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

# End what an earlier serve, killed, left running. A number may have been given
# to a stranger since: only our programs are touched.
children_end_leftovers() {
	local name session pid deadline=$((SECONDS + 20)) left signal=TERM
	[[ -s $children_file ]] || return 0
	while :; do
		left=
		while read -r name session; do
			for pid in $(session_pids "$session"); do
				case $(cat "/proc/$pid/comm" 2>/dev/null) in
				nginx | redis-server | sbx-app | sbx-reaper)
					left+=" $name"
					[[ -z $signal ]] || kill "-$signal" "$pid" 2>/dev/null
					;;
				esac
			done
		done <"$children_file"
		[[ -n $left ]] || break
		[[ -z $signal ]] || say "ending what an earlier serve left running:$left"
		signal=
		((SECONDS < deadline)) || signal=KILL
		pause 0.1
	done
	: >"$children_file"
}
