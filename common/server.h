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

/* What changes after the start, in memory that fork(2) shares. */
struct server_shared {
    _Atomic int64_t stop_ms;     /* monotonic time of SIGTERM; 0: none yet */
    atomic_uint log_generation;  /* goes up with each SIGHUP */
    atomic_bool at_capacity;     /* 02, 04: as many clients as allowed */
    _Atomic int64_t warned_ms;   /* when a shortage was last reported */
    struct access_log_state log;
    struct stats_slot stats[];   /* server.stats_slots of them */
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
    unsigned stats_slots;  /* one for each worker of a pool */
    struct server_shared *shared;
};

/* Reads the command line, opens folders, log and listening sockets, installs
 * the signal handlers. Failure ends the program with status 1 or 2. */
void server_start(struct server *server,
                  const struct architecture *architecture, int argc,
                  char **argv);

/* Prints "listening on URL (FOLDER, MODEL, backlog N)"; MODEL is formatted as
 * by printf, for example "%d workers". */
void server_ready(const struct server *server, const char *model, ...)
    __attribute__((format(printf, 2, 3)));

/* Acts on what signal handlers recorded: prints the report, reopens the log.
 * Without a signal it costs one comparison. */
void server_act_on_signals(const struct server *server);
static inline void server_housekeeping(const struct server *server)
{
    if (atomic_load_explicit(&signals_recorded, memory_order_relaxed) != 0)
        server_act_on_signals(server);
}

/* Warns, as printf formats it, that descriptors, memory or processes ran out;
 * at most once a minute for the whole server. */
#define server_warn_exhausted(server, ...) \
    (server_warning_due(server) ? warn_user(__VA_ARGS__) : (void)0)
bool server_warning_due(const struct server *server);

/* The last thing that main does: prints the report. Returns the exit status. */
int server_finish(const struct server *server);
