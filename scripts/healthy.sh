#!/bin/bash
#
# healthy.sh [PORT] [PATH] - exits with 0 if a server on this machine answers with 200.
#
# The containers' health check (see Dockerfile). The base image has no curl, and would
# grow by 10 MB with it; but it has bash, which can connect without another program.
set -u
port=${1:-8000} path=${2:-/answer}

exec 3<>"/dev/tcp/127.0.0.1/$port" || exit 1
printf 'GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' "$path" >&3
read -r _ status _ <&3
[ "$status" = 200 ] || { echo "healthy.sh: $path answers ${status:-nothing}" >&2; exit 1; }
