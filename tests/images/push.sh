#!/bin/bash
# Puts an image of an engine into a registry, and takes it from the engine under
# that name:
#   push.sh SOCKET IMAGE HOST:PORT/NAME TAG
set -eu
socket=$1 image=$2 name=$3 tag=$4

engine() {
	curl -sS --fail --max-time 60 --unix-socket "$socket" "$@"
}

engine -X POST "http://engine/images/$image/tag?repo=$name&tag=$tag"
# "e30=" is {}: a push must name credentials, if only none (Engine API).
said=$(engine -X POST -H 'X-Registry-Auth: e30=' \
	"http://engine/images/$name/push?tag=$tag")
if grep -q '"error"' <<<"$said"; then
	echo "$said" >&2
	exit 1
fi
engine -o /dev/null -X DELETE "http://engine/images/$name:$tag"
