# What newcomer.sh does on the bare box: the commands of README.md, timed.
set -eu
export DEBIAN_FRONTEND=noninteractive
cd
begun=$SECONDS

# step WORDS COMMAND...: it, its output in a file that is shown where it fails.
step() {
	local what=$1 at=$SECONDS
	shift
	if ! "$@" >step.log 2>&1; then
		tail -n 40 step.log
		echo "failed: $what" >&2
		exit 1
	fi
	printf '%4d s  %s\n' $((SECONDS - at)) "$what"
}

get_git() {
	apt-get update && apt-get install -y git make
}

serves() {
	grep -q 'token  *in' serve.log
}

serve() {
	(cd teploy-sandbox && exec make serve) >serve.log 2>&1 &
	local pid=$!
	until serves; do
		if ! kill -0 $pid 2>/dev/null; then
			cat serve.log
			return 1
		fi
		sleep 0.2
	done
}

first_command() {
	[[ $(sbxctl run teploy-busybox --rm -e WHO=world -- \
		sh -c 'echo "hello $WHO"') == 'hello world' ]]
}

step 'apt-get update && apt-get install -y git make' get_git
step 'git clone' git clone /src teploy-sandbox
step 'make serve, until it serves' serve
step 'make image' make -C teploy-sandbox image
PATH=$HOME/teploy-sandbox/build:$PATH
step 'sbxctl run teploy-busybox --rm' first_command
printf '%4d s  in all\n' $((SECONDS - begun))
sed 's/^/        /' serve.log | tail -n 12
[[ -z $ALSO ]] || make -C teploy-sandbox test
