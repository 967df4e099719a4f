#!/bin/sh
#
# arm64_root.sh FOLDER - lays out the libraries of 64-bit Arm in FOLDER, for a cross
# compiler's --sysroot and for `qemu-aarch64 -L`.
#
# apt-get downloads them with a state of its own, below FOLDER. So this needs no root,
# and the system never hears of another architecture. Only Debian's servers have both
# architectures in one place; Ubuntu keeps Arm on another server, which is not asked.
set -eu
[ $# -eq 1 ] || { echo "usage: $0 FOLDER" >&2; exit 2; }
packages='libc6-dev libhiredis-dev libcmocka-dev uthash-dev'

mkdir -p "$1"
root=$(cd "$1" && pwd)
[ ! -e "$root/done" ] || exit 0
apt=$root/apt
mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
: >"$apt/status" # nothing is installed there yet, so all dependencies come along

apt_get() {
    apt-get -o APT::Architecture=arm64 -o APT::Architectures=arm64 \
        -o Dir::State="$apt" -o Dir::State::lists="$apt/lists" \
        -o Dir::State::status="$apt/status" -o Dir::Cache="$apt/cache" \
        -o Debug::NoLocking=1 -o APT::Sandbox::User="$(id -un)" "$@"
}
apt_get -qq update
# shellcheck disable=SC2086  # a list of words
apt_get install -qq -y --download-only --no-install-recommends $packages
for package in "$apt"/cache/archives/*.deb; do
    dpkg-deb -x "$package" "$root"
done
rm -r "$apt"
touch "$root/done"
