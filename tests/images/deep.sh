#!/bin/bash
# Makes an image of many layers of another one: its file system, and on it as
# many layers as it takes, each with a file /layers/N; the last removes the
# first's.
#   deep.sh SOCKET FROM NAME:TAG LAYERS
# FROM is of this engine. An image that this very script made of the same one is
# left as it is.
set -eu
socket=$1 from=$2 name=$3 layers=$4

engine() { # METHOD PATH [CURL OPTION...]
	curl -sSf --max-time 300 --unix-socket "$socket" -X "$1" \
		"http://engine$2" "${@:3}"
}

id=$(engine GET "/images/$from/json" | sed 's/.*"Id":"\(sha256:[0-9a-f]*\)".*/\1/')
made=$({ cat "$0"; echo "$id" "$layers"; } | sha256sum)
made=${made%% *}
if engine GET "/images/$name/json" 2>/dev/null | grep -qF "\"made\":\"$made\""; then
	exit 0
fi

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/image" "$dir/root" "$dir/root/layers"

# The layer on standard input; adds to $ids and $files.
ids='' files=''
add_layer() {
	local file=layer-$1.tar id

	cat >"$dir/image/$file"
	id=$(sha256sum <"$dir/image/$file")
	ids+="${ids:+,}\"sha256:${id%% *}\""
	files+="${files:+,}\"$file\""
}

container=$(engine POST /containers/create -H 'Content-Type: application/json' \
	-d "{\"Image\":\"$from\",\"Entrypoint\":[\"none\"]}" |
	sed 's/.*"Id":"\([0-9a-f]*\)".*/\1/')
engine GET "/containers/$container/export" -o "$dir/base.tar"
engine DELETE "/containers/$container?v=1"
add_layer 0 <"$dir/base.tar"
for ((n = 1; n < layers - 1; n++)); do
	echo "$n" >"$dir/root/layers/$n"
	tar --format=ustar -C "$dir/root" -cf "$dir/layer.tar" "layers/$n"
	add_layer "$n" <"$dir/layer.tar"
done
: >"$dir/root/layers/.wh.1"
tar --format=ustar -C "$dir/root" -cf "$dir/layer.tar" layers/.wh.1
add_layer "$n" <"$dir/layer.tar"

printf '%s' '{"architecture":"amd64","os":"linux","config":{"Cmd":["sh"],' \
	"\"Labels\":{\"made\":\"$made\"}}," \
	"\"rootfs\":{\"type\":\"layers\",\"diff_ids\":[$ids]}}" \
	>"$dir/image/config.json"
printf '%s' '[{"Config":"config.json",' \
	"\"RepoTags\":[\"$name\"],\"Layers\":[$files]}]" \
	>"$dir/image/manifest.json"
tar -C "$dir/image" -cf "$dir/image.tar" .
answer=$(engine POST /images/load -H 'Content-Type: application/x-tar' \
	-T "$dir/image.tar")
case $answer in
*'Loaded image'*) ;;
*)
	echo "cannot load $name: $answer" >&2
	exit 1
	;;
esac
