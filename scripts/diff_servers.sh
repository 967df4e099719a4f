#!/bin/sh
#
# diff_servers.sh ONE/main.c OTHER/main.c - two servers side by side.
#
# All seven have the same functions in the same order, so the marks in the middle
# column show the difference between two models and nothing else:
# | changed, < only left, > only right.
set -u

if [ $# -ne 2 ]; then
    echo "Which two? For example:  make diff-06-07" >&2
    exit 2
fi

width=160
[ -t 1 ] && width=$(tput cols 2>/dev/null || echo 160)
color=never
[ -t 1 ] && [ -z "${NO_COLOR:-}" ] && color=always

show() {
    printf '%s | %s\n\n' "$1" "$2"
    diff --side-by-side --expand-tabs --width="$width" --color="$color" "$1" "$2"
    printf '\nLines of code alone:'
    git --no-pager diff --no-index --shortstat -- "$1" "$2"
    printf 'Read the head of %s first: it explains the model.\n' "$(dirname "$2")/main.c"
}

if [ -t 1 ] && command -v less >/dev/null; then
    show "$1" "$2" | less -RF
else
    show "$1" "$2"
fi
exit 0
