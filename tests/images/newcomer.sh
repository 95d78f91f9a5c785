#!/bin/bash
# How long a newcomer takes from the clone to the first command: does on a bare
# Debian, in a container, what README.md's "Ten minutes" says, and times it.
#   newcomer.sh SOCKET [test]
# SOCKET is an engine's; with `test` it goes on to `make test`. What is cloned is
# the HEAD of this tree. Debian's packages come from its mirrors, each time.
# Not part of `make test`: it takes minutes, and an engine in a container.
set -eu
here=$(dirname "$0")
socket=${1:?the socket of a Docker engine} also=${2-}
tree=$(cd "$here/../.." && pwd)
name=teploy-newcomer-$$

docker() {
	command docker -H "unix://$socket" "$@"
}

SBX_TEST_PACKAGES=apt "$here/debian.sh" "$socket" teploy-newcomer \
	'CMD ["sleep","infinity"]'
trap 'docker rm -fv "$name" >/dev/null' EXIT
trap 'exit 1' INT TERM HUP
# As systemd.sh starts its own; Docker in it needs a file system that is no
# overlay.
docker run -d --init --name "$name" --cap-add ALL --cap-drop SYS_RESOURCE \
	--security-opt seccomp=unconfined --security-opt apparmor=unconfined \
	--security-opt systempaths=unconfined --cgroupns host \
	-v /sys/fs/cgroup:/sys/fs/cgroup -v /var/lib/docker --tmpfs /run \
	-v "$(git -C "$tree" rev-parse --path-format=absolute --git-common-dir):/src:ro" \
	teploy-newcomer >/dev/null
docker exec "$name" sh -c '! command -v git make gcc nginx redis-server dockerd'
docker exec -i -e ALSO="$also" "$name" bash -s <"$here/newcomer_steps.sh"
