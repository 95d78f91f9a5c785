#!/bin/bash
# A Debian whose PID 1 is systemd, with what an installation of ours takes
# (redis, nginx, a Docker of its own): for what only a real systemd can show.
#   systemd.sh image SOCKET [NAME]          make the image (see debian.sh)
#   systemd.sh start SOCKET CONTAINER BUILD start one, and install into it
#   systemd.sh check SOCKET CONTAINER BUILD [PART...]
#                                           run what is in systemd/ in it
#   systemd.sh stop SOCKET CONTAINER        end and remove it
# SOCKET is that of an engine on this box; NAME is teploy-systemd. Not part of
# `make test`: the image has 430 MB, and the check takes minutes.
unset MAKEFLAGS MFLAGS MAKELEVEL # a make below this is one of its own
set -eu
here=$(dirname "$0")
top=$here/../..
verb=${1-} socket=${2-} name=${3-} build=${4-}
packages=systemd-sysv,dbus,docker.io,iptables,iproute2,redis-server,nginx-light
packages+=,curl,ca-certificates,procps,busybox-static
packages+=,libfcgi0ldbl,libjansson4,libhiredis0.14,libcurl4,libc-ares2

fail() {
	echo "systemd.sh: $*" >&2
	exit 1
}

docker() {
	command docker -H "unix://$socket" "$@"
}

image() {
	SBX_TEST_PACKAGES=$packages "$here/debian.sh" "$socket" \
		"${name:-teploy-systemd}" 'CMD ["/lib/systemd/systemd"]'
}

await_boot() {
	local state='' deadline=$((SECONDS + 120))
	until [[ $state == running || $state == degraded ]]; do
		((SECONDS < deadline)) || fail "it does not boot ($state): docker logs $name"
		sleep 0.3
		state=$(docker exec "$name" systemctl is-system-running 2>/dev/null) || :
	done
}

# `make install` of build $1 into the container: by the root of its PID 1, which
# make does not know for a running system.
install_build() {
	local pid
	pid=$(docker inspect -f '{{.State.Pid}}' "$name")
	[[ -d /proc/$pid/root/opt/systemd ]] || fail "no container $name runs on this box"
	make -s -C "$top" BUILD="$1" DESTDIR="/proc/$pid/root" install || return
	docker exec "$name" systemctl daemon-reload
}

# Every right but SYS_RESOURCE, which a box that is itself a container may not
# have to give (--privileged asks for it). Docker in it cannot have overlayfs
# over overlayfs: /var/lib/docker is a volume. On a box of its own systemd makes
# all mounts shared, so that units see those that Docker makes later.
start() {
	docker run -d --name "$name" --cap-add ALL --cap-drop SYS_RESOURCE \
		--security-opt seccomp=unconfined --security-opt apparmor=unconfined \
		--security-opt systempaths=unconfined \
		--cgroupns host -v /sys/fs/cgroup:/sys/fs/cgroup \
		--tmpfs /run --tmpfs /run/lock --tmpfs /tmp:exec -v /var/lib/docker \
		-e container=docker teploy-systemd \
		sh -c 'mount -o remount,rw /sys; mount --make-rshared /; exec /lib/systemd/systemd' >/dev/null
	await_boot
	tar -C "$here" -c . | docker cp - "$name:/opt"
	docker cp "$top/systemd/README.md" "$name:/opt/systemd"
	install_build "$build"
	# Debian's own would have the port.
	docker exec "$name" systemctl disable -q --now nginx redis-server
	docker exec "$name" /opt/busybox.sh /var/run/docker.sock sbx:plain
	docker exec "$name" systemctl enable -q --now sbx.target
}

# -- the parts of the check ---------------------------------------------------
in_box() {
	docker exec "$name" "/opt/systemd/$1.sh" "${@:2}"
}

version_of() {
	"$1/sbx-app" --version | cut -d' ' -f2
}

# The same programs, but for their version.
other_build() {
	local program version
	version=$(version_of "$build")
	make -s -C "$top" BUILD="$build" all
	tar -C "$build" -c --exclude=./tests --exclude=./test-logs . | tar -C "$1" -x
	for program in sbx-app sbx-reaper sbxctl; do
		sed -i "s/\<${version//./\\.}\>/9${version:1}/g" "$1/$program"
	done
	[[ $(version_of "$1") == "9${version:1}" ]] || fail "no build of another version could be made"
}

replace_by() {
	in_box upgrade begin && install_build "$1" && in_box upgrade restart &&
		in_box upgrade judge "$(version_of "$1")"
}

upgrade() {
	local other
	other=$(mktemp -d /tmp/sbx-systemd-XXXXXX)
	other_build "$other"
	echo "upgrade:" && replace_by "$other" && echo "and back:" && replace_by "$build"
	local status=$?
	rm -rf "$other"
	return $status
}

boot() {
	in_box boot down || return
	docker exec "$name" systemctl reboot || :
	docker wait "$name" >/dev/null
	docker start "$name" >/dev/null
	await_boot
	in_box boot up
}

check() {
	local part bad=0
	tar -C "$here" -c . | docker cp - "$name:/opt"
	docker cp "$top/systemd/README.md" "$name:/opt/systemd"
	for part in "$@"; do
		case $part in
		upgrade | boot) "$part" || bad=1 ;;
		*) in_box "$part" || bad=1 ;;
		esac
		echo "$part: ${SECONDS} s so far"
	done
	return $bad
}

case $verb/$# in
image/[23]) image ;;
start/4) start ;;
check/4) check units scale proxies faults upgrade boot ;;
check/*) check "${@:5}" ;;
stop/3) docker rm -fv "$name" >/dev/null ;;
*) fail "say: image SOCKET [NAME] | start SOCKET CONTAINER BUILD | check SOCKET CONTAINER BUILD [PART...] | stop SOCKET CONTAINER" ;;
esac
