#!/bin/bash
# Installs what is missing to build, run and test this, from Debian's packages.
# Quick where nothing is. Needs root only where something is.
#
#   deps.sh [serve]   what `make serve` needs
#   deps.sh test      that, and what `make test`, lint and analyze need
#   deps.sh image     what `make image` needs
#   deps.sh bench     that, and what `make bench` measures ours beside
set -uo pipefail
PATH=$PATH:/usr/sbin:/sbin # a root shell may lack them

# How to tell that it is there, and the package that brings it:
# a command, a library that pkg-config knows, or a file by a pattern.
NEEDS_SERVE='
command gcc gcc
command make make
command pkg-config pkg-config
command musl-gcc musl-tools
file /usr/include/stdio.h libc6-dev
library fcgi libfcgi-dev
library jansson libjansson-dev
library hiredis libhiredis-dev
library libcurl libcurl4-openssl-dev
library libcrypto libssl-dev
library libcares libc-ares-dev
command nginx nginx
command redis-server redis-server
command redis-cli redis-tools
command curl curl
command setpriv util-linux
command ip iproute2
command iptables iptables
file /etc/ssl/certs/ca-certificates.crt ca-certificates
'
NEEDS_TEST='
library cmocka libcmocka-dev
command clang clang
file /usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-*.a libclang-rt-14-dev
command clang-format clang-format
command clang-tidy clang-tidy
command cppcheck cppcheck
command shellcheck shellcheck
command groff groff-base
command git git
command python3 python3
command openssl openssl
command mmdebstrap mmdebstrap
command systemd-analyze systemd
'
# `make image` packs it.
NEEDS_IMAGE='
file /usr/share/doc/busybox-static busybox-static
'
# What ours is measured beside.
NEEDS_BENCH='
command tinyproxy tinyproxy
command squid squid
'
MARK='written by teploy-sandbox deps.sh'
POLICY=/usr/sbin/policy-rc.d

say() {
	echo "deps: $*"
}

fail() {
	echo "deps: $*" >&2
	exit 1
}

is_there() {
	case $1 in
	command) command -v "$2" >/dev/null ;;
	library) pkg-config --exists "$2" 2>/dev/null ;;
	file) compgen -G "$2" >/dev/null ;;
	esac
}

# An engine of the box, or one that the environment names, whoever made it.
have_docker() {
	command -v dockerd >/dev/null || [[ -S ${SBX_DOCKER_SOCKET:-/var/run/docker.sock} ]]
}

# Sets missing[] from a table.
find_missing() {
	local kind what package
	while read -r kind what package; do
		[[ -z $kind ]] || is_there "$kind" "$what" || missing+=("$package")
	done <<<"$1"
}

# nginx and redis-server come with services of the box, which nobody asked for
# and which would take port 80; docker.io's fails to install where its service
# cannot start by itself. engine.sh starts it. See invoke-rc.d(8).
forbid_services() {
	[[ ! -e $POLICY ]] || grep -q "$MARK" "$POLICY" || return 0
	trap 'rm -f "$POLICY"' EXIT
	trap 'exit 1' INT TERM HUP
	cat >"$POLICY" <<-EOF
		#!/bin/sh
		# $MARK: removed when it is done
		exit 101
	EOF
	chmod 0755 "$POLICY"
}

# What we brought must not start at the next boot either.
disable_services() {
	local package
	[[ -d /run/systemd/system ]] || return 0
	for package in "${missing[@]}"; do
		case $package in
		nginx | redis-server | tinyproxy | squid)
			say "keeping the box's own $package service off (ours runs apart from it)"
			systemctl disable --quiet "$package"
			;;
		esac
	done
}

install_missing() {
	local packages="${missing[*]}"
	command -v apt-get >/dev/null ||
		fail "this is not Debian; install what these packages bring: $packages"
	[[ $EUID -eq 0 ]] || fail "missing: $packages
run as root:  apt-get update && apt-get install --no-install-recommends $packages"
	say "installing from Debian: $packages"
	export DEBIAN_FRONTEND=noninteractive
	forbid_services
	apt-get update -qq || fail "apt-get update failed: is the package mirror reachable?"
	apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null ||
		fail "apt-get install failed"
	disable_services
	say "done"
}

missing=()
case ${1-serve}/$# in
serve/[01]) find_missing "$NEEDS_SERVE" ;;
image/1) find_missing "$NEEDS_IMAGE" ;;
test/1) find_missing "$NEEDS_SERVE$NEEDS_TEST$NEEDS_IMAGE" ;;
bench/1) find_missing "$NEEDS_SERVE$NEEDS_TEST$NEEDS_IMAGE$NEEDS_BENCH" ;;
*) fail "use: deps.sh [serve | test | image | bench]" ;;
esac
have_docker || missing+=(docker.io)
[[ ${#missing[@]} -eq 0 ]] || install_missing
