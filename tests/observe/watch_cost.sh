#!/bin/sh
#
# watch_cost.sh [SERVER [PAIRS]] - what watching costs the watched server.
#
# Starts `watch SERVER` (prethreaded or preforking) with 100 workers in a terminal of
# 130 x 50, at 10 samples a second. The server has core 0 to itself, as in every
# measurement here; with CORES=shared it shares all cores with watch and the load tool.
# Compares the rate of /answer while watch works with the rate while SIGSTOP holds it:
# pairs of 1 s each, in the order A B B A, so that a drift cancels. Prints the median of
# their ratios with its interval, and the CPU time of watch. Run it on a quiet machine;
# it needs tmux and wrk. It is no test.
set -eu
server=${1:-prethreaded}
pairs=${2:-30}
case $server in prethreaded) workers='--threads 100' ;; *) workers='--workers 100' ;; esac
tmux="tmux -L watch-cost-$$"
pid=
trap 'kill -CONT $pid; $tmux kill-server' EXIT

cd "$(dirname "$0")/../.."
$tmux new-session -d -x 130 -y 50 \
    "exec /usr/bin/python3 -m observe watch $server --rate 10 -- $workers"
pid=$($tmux display-message -p '#{pane_pid}')
until url=$($tmux capture-pane -p | grep -o 'http://[^ ]*/'); do
    kill -0 "$pid" || { echo "watch has ended" >&2; exit 1; }
    sleep 0.2
done

others=0-$(($(nproc) - 1))
if [ "${CORES-}" != shared ]; then
    others=1-$(($(nproc) - 1))
    for one in $(pgrep -s "$(pgrep -P "$pid" -x "$server")"); do     # its session
        taskset -ap -c 0 "$one" >/dev/null
    done
    taskset -ap -c "$others" "$pid" >/dev/null
fi

rate() {
    taskset -c "$others" wrk -t1 -c100 -d1 "${url}answer" |
        awk '/^Requests.sec/ { print $2 }'
}
ticks() { sed 's/.*) //' "/proc/$pid/stat" | awk '{ print $12 + $13 }'; }
without() { kill -STOP "$pid"; rate; }
with() {
    kill -CONT "$pid"
    before=$(ticks)
    with=$(rate)
    used=$(($(ticks) - before))
}

rate >/dev/null
i=0
while [ $i -lt "$pairs" ]; do
    if [ $((i % 2)) -eq 0 ]; then
        without=$(without); with
    else
        with; without=$(without)
    fi
    echo "$without $with $used"
    i=$((i + 1))
done | /usr/bin/python3 -c '
import os, statistics, sys
from bench.analyse import stats
pairs = [tuple(map(float, line.split())) for line in sys.stdin]
costs = [100 * (1 - watched / alone) for alone, watched, _ in pairs]
between = "{:.1f} to {:.1f}".format(*stats.interval(costs) or (min(costs), max(costs)))
used = statistics.median(ticks for *_, ticks in pairs) / os.sysconf("SC_CLK_TCK")
print(f"watching costs {statistics.median(costs):.1f} % of the rate ({between}; "
      f"{len(pairs)} pairs); watch uses {100 * used:.1f} % of a CPU")'
