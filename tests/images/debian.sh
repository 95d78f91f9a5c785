#!/bin/bash
# Makes an image of a real Debian with python3, git, curl and procps, for tests
# that need real programs.
#   debian.sh SOCKET [NAME[:TAG] [CHANGE...]]
# NAME is teploy-debian unless given. The first time it fetches packages from
# the mirrors of this machine's sources.list, some 3 minutes; the tar is kept in
# $SBX_TEST_CACHE (/var/cache/teploy-sandbox-tests).
set -eu
socket=${1:?the socket of the Docker engine} name=${2-teploy-debian}
shift $(($# < 2 ? $# : 2))
here=$(dirname "$0")
cache=${SBX_TEST_CACHE:-/var/cache/teploy-sandbox-tests}
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
packages=python3,git,curl,ca-certificates,procps
tar=$cache/$suite-${packages//,/-}.tar

status=$(curl -sS -o /dev/null -w '%{http_code}' --max-time 30 \
	--unix-socket "$socket" "http://engine/images/$name/json")
[ "$status" != 200 ] || exit 0
if [ ! -e "$tar" ]; then
	mkdir -p "$cache"
	echo "making $tar" >&2
	# Without documentation and package lists it is a third smaller.
	mmdebstrap --format=tar --variant=minbase --include="$packages" \
		--dpkgopt='path-exclude=/usr/share/doc/*' \
		--dpkgopt='path-exclude=/usr/share/man/*' \
		--dpkgopt='path-exclude=/usr/share/locale/*' \
		"$suite" "$tar.new" >&2
	mv "$tar.new" "$tar"
fi
"$here/import.sh" "$socket" "$name" "$@" <"$tar"
