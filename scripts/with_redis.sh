#!/bin/bash
#
# with_redis.sh COMMAND [ARGUMENT...] - runs a command with a private Redis.
#
# The word @REDIS@ in an argument becomes the address of that Redis, in the form
# that the servers take:
#
#     scripts/with_redis.sh ./epoll --redis @REDIS@
#
# This Redis listens on a Unix socket in a new temporary folder, so it uses no port,
# and it writes nothing to disk. The script prints the socket's path first (on
# stderr), for redis-cli -s SOCKET. Redis ends, and the folder is removed, when the
# command and all its children have ended, even if they are killed.
set -u

die() { echo "with_redis.sh: $*" >&2; exit 1; }

PATH=$PATH:$(cd "$(dirname "$0")/.." && pwd)/build/deps/bin # see scripts/unpack.sh
[ $# -gt 0 ] || { echo "usage: $0 COMMAND [ARGUMENT...]" >&2; exit 2; }
for program in redis-server redis-cli flock; do
    command -v "$program" >/dev/null || die "no $program here; scripts/deps.sh run fetches it"
done

# Its folder is locked while Redis runs. One that a killed run has left is not, and goes now:
# tools/kit/scratch.py.
temporary=${TMPDIR:-/tmp}
for left in "$temporary"/zerohttpd.*; do
    [ -L "$left" ] || [ ! -O "$left" ] || flock -n "$left" rm -rf "$left"
done
# Until the guardian below runs, only this script can remove its folder.
folder=
trap 'rm -rf "$folder"; exit 1' INT TERM HUP
until folder=$(mktemp -d "$temporary/zerohttpd.redis.XXXXXX") ||
    die "cannot make a folder in $temporary; TMPDIR=FOLDER names another place"
    exec 8<"$folder" && flock 8 && [ -d "$folder" ]; do :; done # or another run took it for left
socket=$folder/redis.sock
mkfifo "$folder/alive" || { rm -rf "$folder"; die "cannot make a pipe in $folder"; }

# A guardian starts Redis, then reads from a pipe that stays empty: end of file
# means that the last process that holds its other end is gone. That works after
# kill -9 too, when no trap of a shell would run. setsid takes both out of the
# terminal's foreground group, so that Ctrl-C does not reach them: the server needs
# Redis while it finishes its work. SIGTERM (scripts/guardian.c) ends cat alone.
# shellcheck disable=SC2016  # $1 and $! are the guardian's
setsid sh -c '
    trap : TERM
    redis-server --port 0 --unixsocket "$1/redis.sock" --dir "$1" \
        --save "" --appendonly no --daemonize no >"$1/log" 2>&1 &
    cat "$1/alive"
    kill $!
    wait
    rm -rf "$1"
' guardian "$folder" </dev/null >/dev/null 2>&1 &

# Our end of the pipe; opening it waits for the guardian to open the other.
exec 9>"$folder/alive" 8<&-
trap - INT TERM HUP

tries=0
until [ "$(redis-cli -s "$socket" ping 2>/dev/null)" = PONG ]; do
    tries=$((tries + 1))
    [ "$tries" -lt 1200 ] || die "Redis does not answer; the end of its log: $(tail -n 3 "$folder/log")"
    sleep 0.05
done

echo "Redis: $socket" >&2

# The command replaces this shell and keeps descriptor 9, so signals reach it
# directly, and its exit status is the script's.
exec "${@//@REDIS@/unix:$socket}"
