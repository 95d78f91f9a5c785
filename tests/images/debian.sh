#!/bin/bash
# Makes an image of a real Debian with python3, pip, git, curl, wget, node and
# procps, for tests that need real programs.
#   debian.sh SOCKET [NAME[:TAG] [CHANGE...]]
# NAME is teploy-debian unless given; CHANGE is a line of a Dockerfile (see
# import.sh). The first time it fetches packages from the mirrors of this
# machine's sources.list, some 3 minutes; the tar is kept in $SBX_TEST_CACHE
# (/var/cache/teploy-sandbox-tests). An image that this very script made with
# the same arguments is left as it is. SBX_TEST_PACKAGES names others.
set -eu
socket=${1:?the socket of the Docker engine} name=${2-teploy-debian}
shift $(($# < 2 ? $# : 2))
here=$(dirname "$0")
# Programs side by side need it at the same time: the second finds it made.
exec 9<"$0"
flock 9
cache=${SBX_TEST_CACHE:-/var/cache/teploy-sandbox-tests}
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
packages=python3,python3-pip,git,curl,wget,nodejs,node-undici,ca-certificates,procps
packages=${SBX_TEST_PACKAGES:-$packages}
made=$({ cat "$0"; printf '%s\n' "$suite" "$packages" "$@"; } | sha256sum)
made=${made%% *}
tar=$cache/$suite-${packages//,/-}.tar

if curl -sS --max-time 30 --unix-socket "$socket" \
	"http://engine/images/$name/json" | grep -qF "\"made\":\"$made\""; then
	exit 0
fi
if [ ! -e "$tar" ]; then
	mkdir -p "$cache"
	echo "making $tar" >&2
	# Without documentation and package lists it is a third smaller.
	mmdebstrap --format=tar --variant=minbase --include="$packages" \
		--dpkgopt='path-exclude=/usr/share/doc/*' \
		--dpkgopt='path-exclude=/usr/share/man/*' \
		--dpkgopt='path-exclude=/usr/share/locale/*' \
		"$suite" "$tar.new.$$" >&2
	mv "$tar.new.$$" "$tar"
fi
"$here/import.sh" "$socket" "$name" "$@" "LABEL made=$made" <"$tar"
