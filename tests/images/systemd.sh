#!/bin/bash
# A Debian whose PID 1 is systemd, with what an installation of ours takes
# (redis, nginx, a Docker of its own): for what only a real systemd can show.
#   systemd.sh image SOCKET [NAME]          make the image (see debian.sh)
#   systemd.sh start SOCKET CONTAINER DIR   start one; DIR is the DESTDIR of
#                                           `make install`, and is copied in
#   systemd.sh check SOCKET CONTAINER       run systemd_check.sh in it
#   systemd.sh stop SOCKET CONTAINER        end and remove it
# SOCKET is an engine's; NAME is teploy-systemd. Not part of `make test`: the
# image has 430 MB.
set -eu
here=$(dirname "$0")
verb=${1-} socket=${2-} name=${3-}
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

# Every right but SYS_RESOURCE, which a box that is itself a container may not
# have to give (--privileged asks for it). Docker in it cannot have overlayfs
# over overlayfs: /var/lib/docker is a volume.
start() {
	local dir=$1
	[[ -d $dir/usr/local/lib/systemd ]] || fail "there is no installation in $dir"
	docker run -d --name "$name" --cap-add ALL --cap-drop SYS_RESOURCE \
		--security-opt seccomp=unconfined --security-opt apparmor=unconfined \
		--security-opt systempaths=unconfined \
		--cgroupns host -v /sys/fs/cgroup:/sys/fs/cgroup \
		--tmpfs /run --tmpfs /run/lock --tmpfs /tmp:exec -v /var/lib/docker \
		-e container=docker teploy-systemd \
		sh -c 'mount -o remount,rw /sys; exec /lib/systemd/systemd' >/dev/null
	await_boot
	tar -C "$dir" -c . | docker cp - "$name:/"
	tar -C "$here" -c . | docker cp - "$name:/opt"
	# Debian's own would have the port.
	docker exec "$name" systemctl disable -q --now nginx redis-server
	docker exec "$name" /opt/busybox.sh /var/run/docker.sock sbx:plain
	docker exec "$name" systemctl daemon-reload
	docker exec "$name" systemctl enable -q --now sbx.target
}

case $verb/$# in
image/[23]) image ;;
start/4) start "$4" ;;
check/3) docker exec "$name" bash /opt/systemd_check.sh ;;
stop/3) docker rm -fv "$name" >/dev/null ;;
*) fail "say: image SOCKET [NAME] | start SOCKET CONTAINER DIR | check, stop SOCKET CONTAINER" ;;
esac
