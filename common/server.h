/*
 * server - what all workers of a server share, and how it starts and ends.
 */
#pragma once

#include <sys/types.h>

#include "access_log.h"
#include "fatal.h"
#include "options.h"
#include "signals.h"
#include "site.h"
#include "stats.h"

/* What one worker shows to the others: a cache line of its own, because
 * cores that write to the same line have to pass it back and forth. */
struct worker_slot {
    _Alignas(64) _Atomic uint64_t requests;
    _Atomic uint64_t connections;
    _Atomic int64_t longest_ms; /* 06, 07: of all iterations of its loop, for
                                   make watch */
    atomic_bool idle; /* 01, 03, 05: waits in accept */
};

/* What changes after the start, in memory that fork(2) shares. */
struct server_shared {
    _Atomic int64_t stop_ms;     /* monotonic time of SIGTERM; 0: none yet */
    atomic_uint log_generation;  /* goes up with each SIGHUP */
    atomic_int room;             /* 02, 04: how many more clients they may
                                    accept; below 1 at the limit */
    _Atomic int64_t warned_ms;   /* of server_warn_rarely() */
    struct access_log_state log;
    struct worker_slot slots[];  /* server.slots of them */
};

struct server { /* constant once the first worker runs, except *shared */
    const struct architecture *architecture;
    struct options options;
    pid_t pid;             /* of the first process, the parent of all others */
    struct site site;      /* what its pages are made from */
    int port;              /* where it listens, also if --port was 0 */
    int *listeners;        /* one, or one for each worker */
    int listener_count;
    struct access_log log;
    unsigned slots;        /* one for each worker of 01, 03, 05 and 07; 02,
                              04 and 06: one for all */
    struct server_shared *shared;
};

/* Reads the command line, raises the limit of descriptors, looks up Redis'
 * address, opens the listening sockets, changes the user, opens folders and
 * log, closes the sandbox, installs the signal handlers. Failure ends the
 * program with status 1 or 2. What a server says of itself in `architecture`
 * is explained in options.h; it must stay in memory. */
void server_start(struct server *server,
                  const struct architecture *architecture, int argc,
                  char **argv);

/* Prints "listening on URL (FOLDER, MODEL, backlog N)"; MODEL is formatted
 * as by printf, for example "%d workers". */
void server_ready(const struct server *server, const char *model, ...)
    __attribute__((format(printf, 2, 3)));

void server_act_on_record(const struct server *server);

/* Acts on what signal handlers have recorded: prints the report, reopens
 * the log. Almost always nothing is recorded: then it costs one comparison,
 * and server_act_on_record() is not called. */
static inline void server_act_on_signals(const struct server *server)
{
    if (atomic_load_explicit(&signals_recorded, memory_order_relaxed) != 0)
        server_act_on_record(server);
}

/* warn_user() for trouble that each client may cause again, such as a
 * shortage of descriptors: prints one warning a minute at most, of whatever
 * kind, for the whole server. A macro, because a warning that is not due
 * should not be formatted. */
#define server_warn_rarely(server, ...)    \
    do {                                   \
        if (server_warning_due(server))    \
            warn_user(__VA_ARGS__);        \
    } while (0)
bool server_warning_due(const struct server *server);

/* The last thing that main does: prints the report. Returns the exit
 * status. */
int server_finish(const struct server *server);
