#!/bin/bash
#
# doctor.sh - checks whether this machine can build, test and measure.
#
# Each line is OK, WARN or FAIL. WARN: something works less well (a curve ends
# early). FAIL: something does not work at all. Both come with a remedy. The script
# changes nothing. It exits with 1 when there is a FAIL.
set -u
cd "$(dirname "$0")/.." || exit 1

failures=0 warnings=0
say() { printf '%-5s %-22s %s\n' "$1" "$2" "$3"; }
ok() { say OK "$1" "$2"; }
warn() { warnings=$((warnings + 1)); say WARN "$1" "$2"; printf '%28s remedy: %s\n' '' "$3"; }
fail() { failures=$((failures + 1)); say FAIL "$1" "$2"; printf '%28s remedy: %s\n' '' "$3"; }

# at_least NAME HAVE WANT WHY REMEDY: a WARN when HAVE is below WANT.
at_least() {
    if [ "$2" -ge "$3" ]; then ok "$1" "$2"; else warn "$1" "$2, better $3 or more: $4" "$5"; fi
}

sysctl() { cat "/proc/sys/$1" 2>/dev/null || echo 0; }

# ------------------------------------------------------------------ the kernel

kernel=$(uname -r)
if [ "$(uname -s)" != Linux ]; then
    fail kernel "$(uname -s)" "use Linux: epoll, sendfile and accept4 are Linux's own"
elif printf '5.6\n%s\n' "$kernel" | sort -CV; then
    ok kernel "Linux $kernel"
else
    warn kernel "Linux $kernel has no openat2" "works, with a slower check of each path; 5.6 or newer has it"
fi

# A connection takes a descriptor here and one at the load generator.
soft=$(ulimit -Sn) hard=$(ulimit -Hn)
[ "$hard" = unlimited ] && hard=1048576
[ "$soft" = unlimited ] && soft=$hard
if [ "$hard" -ge 20000 ]; then
    ok 'descriptor limit' "$soft, may be raised to $hard"
else
    warn 'descriptor limit' "$soft, at most $hard: the curves end before 15,000 connections" \
        "as root: echo '* hard nofile 65536' >> /etc/security/limits.conf, and log in again"
fi

at_least somaxconn "$(sysctl net/core/somaxconn)" 4096 \
    'limits every --backlog; more clients together overflow the accept queue' \
    'sudo sysctl net.core.somaxconn=4096'
at_least tcp_max_syn_backlog "$(sysctl net/ipv4/tcp_max_syn_backlog)" 1024 \
    'half-open connections beyond it are dropped' \
    'sudo sysctl net.ipv4.tcp_max_syn_backlog=4096'

read -r low high < /proc/sys/net/ipv4/ip_local_port_range
at_least 'ports for clients' $((high - low + 1)) 28000 \
    'each connection takes one, and keeps it for a minute after its end' \
    "sudo sysctl net.ipv4.ip_local_port_range='10240 65535'"
waiting=$(awk '$1 == "TCP:" { for (i = 2; i < NF; i++) if ($i == "tw") print $(i + 1) }' /proc/net/sockstat)
if [ "${waiting:-0}" -le $(((high - low) / 4)) ]; then
    ok TIME_WAIT "${waiting:-0} ports"
else
    warn TIME_WAIT "$waiting ports are held by ended connections" 'wait a minute before measuring'
fi

at_least processes "$(ulimit -u | sed 's/unlimited/1048576/')" 1000 \
    'limits the children of forking' 'raise nproc in /etc/security/limits.conf'

# ----------------------------------------------------------------- the machine

at_least 'CPU cores' "$(nproc)" 2 \
    'server and load generator share one, so each slows the other' 'use a machine with two or more'
load=$(cut -d' ' -f1 /proc/loadavg)
if awk -v load="$load" -v cores="$(nproc)" 'BEGIN { exit !(load < cores / 4) }'; then
    ok 'load average' "$load"
else
    warn 'load average' "$load: other programs are running" 'measure when the machine is quiet (for tests it does not matter)'
fi
memory=$(awk '$1 == "MemAvailable:" { print int($2 / 1024) }' /proc/meminfo)
at_least 'memory, MiB' "$memory" 1000 'thousands of processes and threads need room' 'end other programs'

if (exec 3<>/dev/tcp/127.0.0.1/8000) 2>/dev/null; then
    warn 'port 8000' 'another program listens there' "make run-07 ARGS='--port 8080'"
else
    ok 'port 8000' free
fi

# ---------------------------------------------------------------- the packages

for group in build run test browser tidy compare fuzz; do
    if lines=$(NO_INSTALL=1 scripts/deps.sh "$group" 2>&1); then
        ok "packages: $group" "all installed"
    elif [ "$group" = build ]; then
        fail "packages: $group" "some are missing" "$(tail -n 1 <<<"$lines" | sed 's/^ *//')"
    else
        warn "packages: $group" "some are missing, make gets them when needed" \
            "$(tail -n 1 <<<"$lines" | sed 's/^ *//')"
    fi
done
for compiler in gcc clang; do
    command -v "$compiler" >/dev/null && ok "$compiler" "$("$compiler" --version | head -n 1)"
done
command -v redis-server >/dev/null && ok Redis "$(redis-server --version | cut -d' ' -f1-3)"

echo
if [ "$failures" -eq 0 ] && [ "$warnings" -eq 0 ]; then
    echo 'This machine can build, test and measure.'
else
    echo "$failures things do not work, $warnings work less well than they could."
fi
[ "$failures" -eq 0 ]
