/*
 * serve_blocking - serves one client with blocking calls.
 *
 * For servers that give each client a process or a thread for as long as it
 * is served: 01 to 05. Its counterpart for event loops is event_loop.h.
 */
#pragma once

#include "redis.h"
#include "worker.h"

/* The stack of a thread that calls serve_blocking(): several times what it
 * needs. The default is 8 MiB of address space. And glibc keeps the stacks
 * of ended threads for the next ones, up to 40 MiB with their guard pages:
 * four of the default size, 157 of these. */
enum { BLOCKING_STACK_SIZE = 256 * 1024 };

struct blocking_worker {
    struct worker base;
    struct redis redis; /* its own: a blocking call cannot share it */
};

/* Initializes worker `number` of the server. */
void blocking_worker_init(struct blocking_worker *bw,
                          const struct server *server, int number);

void blocking_worker_free(struct blocking_worker *bw);

/* For accept_next(), while the worker (a struct blocking_worker) has no
 * client: gives back what it keeps only to be faster later. */
void blocking_worker_trim(void *bw);

/* Serves one client until the connection ends, and closes its socket. */
void serve_blocking(struct blocking_worker *bw, int fd);
