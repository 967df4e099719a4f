/*
 * options - the command line, the same for all seven.
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>

#include "redis.h"

/* Which of the options that belong to a model a server takes. */
enum {
    TAKES_WORKERS = 1 << 0,
    TAKES_THREADS = 1 << 1,
    TAKES_MAX_CHILDREN = 1 << 2,
    TAKES_MAX_THREADS = 1 << 3,
    TAKES_MAX_CONNECTIONS = 1 << 4,
};

/* What tells a server from its six neighbours, apart from its code. */
struct architecture {
    const char *folder; /* "07_epoll" */
    const char *name;   /* "epoll" */
    unsigned takes;     /* TAKES_... */
    bool is_event_loop; /* it never waits for one client */
    int workers;        /* default for --workers, 0 where there is none */
};

enum {
    DEFAULT_PORT = 8000,
    DEFAULT_BACKLOG = 4096,
    DEFAULT_THREADS = 100,
    DEFAULT_MAX_CHILDREN = 128,
    DEFAULT_MAX_THREADS = 256,
};

struct options {
    const char *host; /* numeric address to listen on */
    int port;         /* 0: the kernel picks one */
    const char *root; /* the folder that holds public/ and templates/ */
    int backlog;
    int workers;
    int threads;
    int max_children;
    int max_threads;
    int max_connections; /* 0: as many as there are descriptors */
    struct redis_address redis;
    bool pipeline;
    int keep_alive_ms; /* 0: no persistent connections */
    int request_timeout_ms;
    int drain_timeout_ms;
    const char *access_log; /* NULL: none */
    const char *user;       /* NULL: stay who we are */
    bool quiet, verbose;
};

/* Reads the command line. Does not return for --help and --version (exit 0) and
 * for wrong usage (exit 2, with a sentence on standard error). */
void options_parse(struct options *options,
                   const struct architecture *architecture, int argc,
                   char **argv);

#endif
