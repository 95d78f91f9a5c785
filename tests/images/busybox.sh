#!/bin/bash
# Makes a small image from Debian's busybox-static: in a second, and offline.
#   busybox.sh [--scratch] SOCKET [NAME[:TAG] [CHANGE...]]
# NAME is teploy-busybox unless given; CHANGE is a line of a Dockerfile (see
# import.sh). --scratch makes an image that holds /bin/true and nothing else: no
# shell, no passwd, no directories. An image that this very script made with the
# same arguments is left as it is.
set -eu
scratch=
[ "${1-}" != --scratch ] || { scratch=1 && shift; }
socket=${1:?the socket of the Docker engine} name=${2-teploy-busybox}
shift $(($# < 2 ? $# : 2))
here=$(dirname "$0")
# Programs side by side need it at the same time: the second finds it made.
exec 9<"$0"
flock 9
busybox=$(command -v busybox) || {
	echo "no busybox: apt-get install busybox-static" >&2
	exit 1
}
# In the image there is no loader: Debian's other busybox would not start.
if ldd "$busybox" 2>/dev/null | grep -q /ld-linux; then
	echo "$busybox needs shared libraries: apt-get install busybox-static" >&2
	exit 1
fi
made=$({ cat "$0" "$busybox"; printf '%s\n' "$scratch" "$@"; } | sha256sum)
made=${made%% *}
if curl -sS --max-time 30 --unix-socket "$socket" \
	"http://engine/images/$name/json" | grep -qF "\"made\":\"$made\""; then
	exit 0
fi

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
chmod 755 "$root"
mkdir "$root/bin"
if [ "$scratch" ]; then
	cp "$busybox" "$root/bin/true"
else
	mkdir -p "$root"/{dev,etc,user,proc,root,sys,tmp,usr/bin,var}
	chmod 1777 "$root/tmp"
	chown 1000:1000 "$root/user"
	cp "$busybox" "$root/bin/busybox"
	for applet in $("$busybox" --list); do
		[ "$applet" = busybox ] || ln -s busybox "$root/bin/$applet"
	done
	cat >"$root/etc/passwd" <<-END
		root:x:0:0:root:/root:/bin/sh
		user:x:1000:1000:a user:/user:/bin/sh
		nobody:x:65534:65534:nobody:/:/bin/false
	END
	cat >"$root/etc/group" <<-END
		root:x:0:
		user:x:1000:
		extra:x:2000:user
		nogroup:x:65534:
	END
fi
tar -C "$root" -c . | "$here/import.sh" "$socket" "$name" "$@" "LABEL made=$made"
