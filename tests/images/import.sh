#!/bin/bash
# Makes an image of the tar on standard input, through the Engine API.
#   import.sh SOCKET NAME[:TAG] [CHANGE...] <TAR
# CHANGE is a line of a Dockerfile: "USER 1000", "ENV A=b", "WORKDIR /srv", ...
set -eu
socket=$1 name=$2
shift 2
repo=${name%:*} tag=latest
[ "$repo" = "$name" ] || tag=${name##*:}
query=(--url-query "fromSrc=-" --url-query "repo=$repo" --url-query "tag=$tag")
for change in "$@"; do
	query+=(--url-query "changes=$change")
done
answer=$(curl -sS --max-time 300 --unix-socket "$socket" "${query[@]}" \
	-X POST -H 'Content-Type: application/x-tar' -T - \
	http://engine/images/create)
case $answer in
*'"status":"sha256:'*) ;;
*)
	echo "cannot import $name: $answer" >&2
	exit 1
	;;
esac
