/*
 * server - what all of a server's workers share, and how it starts and ends.
 */
#ifndef SERVER_H
#define SERVER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "accept_turn.h"
#include "access_log.h"
#include "options.h"
#include "stats.h"

#define SERVER_VERSION "zerohttpd/0.1"

/* What changes after the start, in memory that fork(2) shares. */
struct server_shared {
    _Atomic int64_t stop_ms;    /* monotonic time of SIGTERM; 0: none yet */
    atomic_uint log_generation; /* goes up with each SIGHUP */
    /* Does a connection that is kept keep others out? Always true where a
     * fixed pool serves; true at the bound where processes or threads are
     * made as needed. */
    atomic_bool full;
    atomic_bool watched; /* see accept_filter.c */
    atomic_bool held; /* at the bound: clients that one of these may be for */
    atomic_bool no_more; /* the last attempt to accept failed: EMFILE, ENOMEM */
    _Atomic int64_t shortage_ms; /* when a shortage was last reported */
    struct accept_turns turns;   /* of the pools */
    struct stats_slot stats[]; /* server.stats_slots of them */
};

struct server { /* constant once the first worker runs, but for *shared */
    const struct architecture *architecture;
    struct options options;
    char signature[64];  /* "zerohttpd/0.1 (epoll)" */
    int port;            /* where it listens, also if --port was 0 */
    int backlog;         /* what the kernel makes of --backlog */
    int *listeners;      /* one; with SO_REUSEPORT one for each worker */
    int listener_count;
    int public_folder;   /* descriptors of public/ and templates/ */
    int template_folder;
    char **pictures;     /* "/pictures/NAME", percent-encoded, for /redirect */
    unsigned picture_count;
    unsigned files_kept; /* most that a worker keeps open; 0: as many as it
                            keeps at all */
    struct access_log log;
    unsigned stats_slots;
    struct server_shared *shared;
};

/* Reads the command line, opens folders, log and listening sockets, installs
 * the signal handlers. Does not return on failure (exit 1 or 2). `listeners` is
 * how many sockets listen on the port (more than 1: with SO_REUSEPORT), `slots`
 * how many workers count on their own; for either, 0 stands for what --workers
 * or --threads says. */
void server_start(struct server *server,
                  const struct architecture *architecture, int argc,
                  char **argv, int listeners, int slots);

/* Prints "listening on URL (FOLDER, MODEL, backlog N)"; `model` as by printf,
 * "%d workers" and so on. From here on clients may come. */
void server_ready(const struct server *server, const char *model, ...)
    __attribute__((format(printf, 2, 3)));

/* Looks for notes that signals left: prints the report, reopens the log. To be
 * called now and then, and when a system call was interrupted; where there are
 * no notes it costs next to nothing. */
void server_housekeeping(const struct server *server);

/* Says that something has run short (descriptors, memory, processes), as by
 * printf; at most once a minute, whoever meets it first and however often: a
 * message for each client that has to wait would fill a disk. */
void server_say_shortage(const struct server *server, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The last thing that main does: the report. Returns the exit status. */
int server_finish(const struct server *server);

#endif
