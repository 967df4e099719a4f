#!/bin/sh
#
# watch_cost.sh [SERVER [ROUNDS]] - what watching costs the watched server.
#
# Starts `watch SERVER` with 100 workers in a terminal of 130 x 50 and compares the
# rate of /answer while watch works with the rate while SIGSTOP holds it: pairs of
# 5 s each. Run it on a quiet machine; it needs tmux and wrk. It is no test.
set -eu
server=${1:-05}
rounds=${2:-10}
case $server in 05|prethreaded) workers='--threads 100' ;; *) workers='--workers 100' ;; esac
tmux="tmux -L watch-cost"
trap '$tmux kill-server 2>/dev/null' EXIT

cd "$(dirname "$0")/../.."
$tmux new-session -d -x 130 -y 50 \
    "exec /usr/bin/python3 -m observe watch $server -- $workers"
pid=$($tmux display-message -p '#{pane_pid}')
until url=$($tmux capture-pane -p | grep -o 'http://[^ ]*/'); do sleep 0.2; done

rate() { wrk -t1 -c100 -d5 "${url}answer" | awk '/^Requests.sec/ { print $2 }'; }

rate >/dev/null
i=0
while [ $i -lt "$rounds" ]; do
    kill -STOP "$pid"; without=$(rate)
    kill -CONT "$pid"; with=$(rate)
    echo "$without $with"
    i=$((i + 1))
done | awk '{ w += $1; x += $2; print "without", $1, " with", $2 }
    END { printf "watching costs %.1f %% of the rate\n", 100 * (1 - x / w) }'
