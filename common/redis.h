/*
 * store - a Redis command as data, and the blocking way to run it.
 *
 * A page never calls Redis. It queues commands, each an array of words, and is
 * called back with each reply. redis_async.h has the way for servers that do not
 * wait.
 */
#ifndef REDIS_H
#define REDIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include <hiredis/hiredis.h>

#include "bytes.h"
#include "redis_reply.h"

enum {
    REDIS_ARGS_MAX = 4,
    /* A guest gets his page or a 503 within a second, so all that one page
     * asks of Redis may take this long ... */
    REDIS_TIMEOUT_MS = 700,
    /* ... and each single wait for Redis, connecting included, this long. */
    REDIS_WAIT_MS = 250,
    /* After a failure the next attempt to connect waits, first and at most: */
    REDIS_BACKOFF_FIRST_MS = 10,
    REDIS_BACKOFF_MAX_MS = 500,
    /* For redis_has_memory(): more than hiredis takes to connect (in
     * redis_async.c), and as much as it takes for an empty buffer. */
    REDIS_CONNECT_MEMORY = 32 * 1024,
    REDIS_WRITE_MEMORY = 16,
    REDIS_KEEP_BUFFER = 16 * 1024, /* a larger one is given back */
};

struct redis_command {
    int argc;
    const char *argv[REDIS_ARGS_MAX]; /* not owned; kept until it is sent */
    size_t argvlen[REDIS_ARGS_MAX];
};

/* Appends the command as Redis reads it, an array of strings (RESP,
 * https://redis.io/docs/latest/develop/reference/protocol-spec/): *1\r\n$4\r\nPING\r\n
 * No memory sets out->failed. */
void redis_append_command(struct buffer *out,
                          const struct redis_command *command);

struct redis_address { /* where Redis is */
    bool none;        /* --redis none: there is no guestbook */
    const char *path; /* of a unix socket, or NULL */
    const char *host; /* a numeric address: looked up once, at the start */
    int port;
    struct sockaddr_storage address; /* the same for connect(2) */
    socklen_t address_length;
};

/* One connection to Redis, for one blocking server, worker or thread. */
struct redis {
    const struct redis_address *address;
    redisContext *redis;     /* NULL: not connected */
    struct buffer out;       /* commands that have not been sent yet */
    struct redis_reply_memory reply;
    int64_t retry_ms;        /* do not try to connect before this time */
    int backoff_ms;          /* 0: Redis has answered since the last failure */
    int64_t used_ms;         /* when a reply last came */
    int64_t deadline_ms;     /* of the page that is being made */
};

void redis_init(struct redis *store, const struct redis_address *address);

/* Closes the connection; the store can be used again. */
void redis_close(struct redis *store);

/* Can malloc() have so many bytes? hiredis 0.14 reports want of memory, but for
 * two places in which it ends the process: in redisAsyncConnect() by abort(3),
 * and after it has written by taking NULL for its new, empty buffer. What is
 * given back here is most likely at hand there. */
bool redis_has_memory(size_t size);

/* Begins the commands of one page: connects where there is no connection or a
 * dead one. Returns false when Redis is away. now_ms is monotonic. */
bool redis_begin(struct redis *store, int64_t now_ms);

/* Queues one command; it goes out with the next redis_receive(). Returns false
 * when there is no connection or no memory. */
bool redis_send(struct redis *store, const struct redis_command *command);

/* Sends what is queued and waits for the next reply. Returns it, lent until the
 * store is used again; or NULL when Redis is away, too slow or talks nonsense:
 * then the connection has been closed, and no further reply will come. */
const redisReply *redis_receive(struct redis *store);

#endif
