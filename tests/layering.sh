#!/bin/bash
#
# layering.sh [FOLDER] - holds common/ to its two promises, by reading the
# symbol tables of its objects (FOLDER, build/default/common unless named).
#
# 1. Pure modules wait for nobody. The parser, the connection, the pages know
#    only bytes: no socket, no poll, no file, no call into hiredis. What they
#    want is said to a driver, which does it. So one look at the symbols that
#    an object leaves undefined, those that it calls in others, is enough.
#
# 2. No module has a variable of its own. Whatever changes belongs to a caller,
#    so the same code is as safe in threads as it is in processes.
#
# The check first shows, on an object made up to break both, that it can fail.
# Closes with `N passed, N failed`; exits 1 when anything failed.
set -u
cd "$(dirname "$0")/.." || exit 1
objects=${1:-build/default/common}

# Modules that meet the kernel or Redis, as is their purpose. All others,
# those written after this list too, are pure.
impure='
serve_blocking    the driver that waits
event_loop   the driver that does not
redis         runs Redis commands, and waits
redis_async   hands them to the event loop
net           sockets
accept_filter waits for whom to accept
file_table    opens the site's files, the one exception among the pages
access_log    writes lines to a file
options       reads the command line
clock         asks for the time
signals       tells of signals
stats         asks for the CPU time used
server        starts and ends a server
sandbox       gives up rights
workers       forks, and replaces what died
accept_turn   waits for a mutex
fatal         ends the program
'

# These must be there and pure, or the check would pass for want of objects.
core='http_parser http_conn http_response router endpoints guestbook text'

# Variables that may be written to: a signal handler can reach nothing else.
may_vary='signals'

# What a pure module must not call: system calls that wait or touch the world,
# the __read_chk forms that _FORTIFY_SOURCE makes of them, and hiredis.
forbidden='^(__)?('
forbidden+='socket|socketpair|bind|listen|accept4?|connect|shutdown|[gs]etsockopt|getaddrinfo'
forbidden+='|(p?read|p?write)(v|v2|64|v64)?|close|(open|openat)(64)?(_2)?|fopen(64)?|opendir|f?stat(at)?(64)?'
forbidden+='|recv(from|msg|mmsg)?|send(to|msg|mmsg|file|file64)?|splice'
forbidden+='|p?poll|p?select|epoll_[a-z0-9_]+'
forbidden+='|v?fork|clone|exec[vlpe]+|wait(pid)?|kill|raise|sigaction|signal'
forbidden+='|pthread_[a-z_]+|sleep|usleep|nanosleep|clock_nanosleep|syscall'
forbidden+='|redis[A-Za-z]+|freeReplyObject'
forbidden+=')(_chk)?$'

# calls OBJECT: the forbidden functions that it calls, one a line.
calls() { nm --undefined-only --format=posix "$1" | cut -d' ' -f1 | grep -E "$forbidden"; }

# variables OBJECT: the symbols that lie where the program may write. Constant
# tables of pointers do not count: they lie in .data.rel.ro, which the loader
# makes read-only once it has put the addresses in.
variables() {
    objdump --syms "$1" | awk -F '\t' '
        NF == 2 {               # flags and section, tab, size and name
            split($1, left, " "); section = left[length(left)]
            split($2, right, " "); name = right[length(right)]
            if (section ~ /^\.data\.rel\.ro/ || name == section)
                next
            if (section ~ /^\.(data|bss|tdata|tbss)/ || section == "*COM*")
                print name
        }'
}

passed=0 failed=0
pass() { passed=$((passed + 1)); }
fail() { failed=$((failed + 1)); echo "FAILED: $*"; }

# expect WHAT WANTED GOT: both are lists of words.
expect() {
    if [ "$(xargs <<<"$2")" = "$(xargs <<<"$3")" ]; then pass; else fail "$1: expected '$2', got '$3'"; fi
}

# ------------------------------------------------- can this check fail at all?

folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
cat >"$folder/guilty.c" <<'C'
#include <hiredis.h>
#include <poll.h>
#include <unistd.h>
int counter;
static int started = 1;
static __thread int mine;
static const char *movable[] = {"a", "b"};
static const char *const fixed[] = {"c", "d"};
static const int number = 3;
const char *guilty(redisContext *, struct pollfd *, char *, size_t);
const char *guilty(redisContext *redis, struct pollfd *fds, char *p, size_t n)
{
    static int calls;
    movable[calls++ & 1] = fixed[counter++ & 1];
    mine += started++ + number;
    redisCommand(redis, "PING");
    return read(poll(fds, 1, -1), p, n) > mine ? movable[0] : fixed[1];
}
C
cat >"$folder/innocent.c" <<'C'
#include <string.h>
static const char *const names[] = {"a", "b"};
const char *innocent(const char *s);
const char *innocent(const char *s) { return names[strlen(s) & 1]; }
C
for name in guilty innocent; do
    # shellcheck disable=SC2046
    ${CC:-gcc} -O2 -fPIE -D_FORTIFY_SOURCE=2 $(pkg-config --cflags hiredis) \
        -c -o "$folder/$name.o" "$folder/$name.c" || exit 1
done
expect 'self-test, calls' 'poll read redisCommand' "$(calls "$folder/guilty.o" | sort | sed 's/^__//; s/_chk$//')"
expect 'self-test, variables' 'calls counter mine movable started' \
    "$(variables "$folder/guilty.o" | sed 's/\.[0-9]*$//' | sort)"
expect 'self-test, an innocent' '' "$(calls "$folder/innocent.o")$(variables "$folder/innocent.o")"

# ------------------------------------------------------------ the real objects

for name in $core; do
    if [ -f "$objects/$name.o" ]; then pass; else fail "$objects/$name.o is not there"; fi
    if grep -q "^$name " <<<"$impure"; then fail "$name must be pure"; fi
done

shopt -s nullglob
for object in "$objects"/*.o; do
    name=$(basename "$object" .o)
    if ! grep -q "^$name " <<<"$impure"; then
        found=$(calls "$object")
        if [ -z "$found" ]; then pass; else fail "common/$name.c is pure and calls: $(xargs <<<"$found")"; fi
    fi
    if ! grep -qw "$name" <<<"$may_vary"; then
        found=$(variables "$object")
        if [ -z "$found" ]; then pass; else fail "common/$name.c has variables: $(xargs <<<"$found")"; fi
    fi
done

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
