#!/bin/bash
#
# with_redis.sh COMMAND [ARGUMENT...] - runs a command beside a Redis of its own.
#
# The word @REDIS@ in an argument becomes the address of that Redis, in the form
# that the servers take:
#
#     scripts/with_redis.sh ./epoll --redis @REDIS@
#
# This Redis listens on a Unix socket in a new temporary folder, so it is in
# nobody's way, writes nothing to disk, and is ended with the command, however
# the command ends; the folder is removed then. Exits as the command did.
set -u

die() { echo "with_redis.sh: $*" >&2; exit 1; }

[ $# -gt 0 ] || { echo "usage: $0 COMMAND [ARGUMENT...]" >&2; exit 2; }
command -v redis-server >/dev/null || die "no redis-server here; scripts/deps.sh run installs it"

folder=$(mktemp -d "${TMPDIR:-/tmp}/zerohttpd-redis.XXXXXX") || die "cannot make a temporary folder"
socket=$folder/redis.sock
redis=
stop() {
    if [ -n "$redis" ]; then
        kill "$redis" 2>/dev/null
        wait "$redis" 2>/dev/null
    fi
    rm -rf "$folder"
}
trap stop EXIT

# Ctrl-C reaches every process of the terminal's foreground group. setsid takes
# Redis out of it: the server must find it alive while it finishes its work.
# --pdeathsig ends Redis even when this shell is killed with SIGKILL.
setsid setpriv --pdeathsig TERM \
    redis-server --port 0 --unixsocket "$socket" --dir "$folder" \
    --save '' --appendonly no --daemonize no >"$folder/log" 2>&1 &
redis=$!

for ((try = 0; ; try++)); do
    [ "$(redis-cli -s "$socket" ping 2>/dev/null)" = PONG ] && break
    kill -0 "$redis" 2>/dev/null && ((try < 100)) ||
        die "Redis did not start; its last words: $(tail -n 3 "$folder/log")"
    sleep 0.05
done

# Signals are for the command to act upon; this shell stays to clean up. Ctrl-C
# reaches the command by itself (a shell starts what is put into the background
# with SIGINT ignored, which env undoes); SIGTERM is handed on.
trap : INT
env --default-signal=INT "${@//@REDIS@/unix:$socket}" <&0 &
command=$!
trap 'kill -TERM "$command"' TERM

# wait returns when a trap has run, too; then it has to be asked again.
while kill -0 "$command" 2>/dev/null; do
    wait "$command"
done
wait "$command"
