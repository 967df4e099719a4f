/*
 * options - the command line, the same for all seven servers.
 */
#pragma once

#include "redis.h"

#define SERVER_VERSION "zerohttpd/2.0"

enum architecture_kind {
    POOL,           /* a fixed number of workers accept: 01 (one), 03, 05 */
    PER_CONNECTION, /* a process or a thread for each client: 02, 04 */
    EVENT_LOOP,     /* a worker serves many clients together: 06, 07 */
};

/* What distinguishes a server from its six neighbours, apart from its
 * code. */
struct architecture {
    const char *folder; /* "07_epoll" */
    const char *name;   /* "epoll" */
    enum architecture_kind kind;
    bool keeps_files;     /* a worker that waits in accept(2) may have files
                             open: it wakes up after 5 seconds without a
                             client, and closes them. (A loop, which has
                             other timers, closes them too.) */
    int workers, threads; /* defaults of the options; 0: it has none */
};

struct options {
    const char *host; /* address or name to listen on */
    int port;         /* 0: the kernel picks one */
    const char *root; /* the folder that holds public/ and templates/ */
    int backlog;
    int workers, threads, max_children, max_threads;
    int max_connections; /* 0: as many as descriptors allow */
    struct redis_address redis;
    bool pipeline, compute;
    int keep_alive_ms; /* 0: no persistent connections */
    int request_timeout_ms;
    int drain_timeout_ms;
    const char *access_log; /* NULL: none */
    const char *user;       /* NULL: keep the current user */
    bool quiet, verbose;
};

/* Reads the command line. Does not return for --help and --version (exit 0)
 * and for wrong usage (exit 2, with a sentence on standard error). */
void options_parse(struct options *options,
                   const struct architecture *architecture, int argc,
                   char **argv);
