/*
 * redis_async - one connection to Redis for all clients of an event loop.
 *
 * No command waits for the reply to another client's. Replies arrive in the
 * order of the commands, so they need no tags. (A page's next command waits
 * for the reply to the one before, except with --pipeline and
 * page_ask_also().) Everything queued during one iteration of the loop leaves
 * in one write at its end: the busier the loop, the fewer system calls a
 * page. The first command also starts the connection, and leaves when the
 * kernel reports that it stands.
 *
 * hiredis' asynchronous API does the work. It needs to know what happens on
 * its socket, and says what to watch that socket for: this file is the
 * adapter between hiredis and our loops, as hiredis' adapters/ are for
 * libevent and others.
 */
#pragma once

#include <hiredis/async.h>

#include "clock.h"
#include "redis.h"

struct redis_async {
    /* Set by the owner: */
    const struct redis_address *address;
    const struct clock *clock; /* the loop's */
    void *loop;                /* passed to the two functions below */
    /* Tells the loop what to watch fd for, level-triggered. 0: nothing any
     * longer, because fd is about to be closed. */
    void (*watch)(void *loop, int fd, short events);
    /* Delivers a reply to a client, or NULL when there will be none: the
     * loop's client_replied(). The reply stays hiredis'. */
    void (*deliver)(void *loop, void *client, const redisReply *reply);

    redisAsyncContext *context; /* NULL: no connection */
    struct redis_bounds bounds;
    struct redis_backoff backoff;
    unsigned due;               /* replies that have not arrived */
    int64_t progress_ms;        /* when the last reply arrived, or the first of
                                   those due was asked for */
    int fd;
    short wanted;               /* POLLIN, POLLOUT: what hiredis waits for */
    short watched;              /* what the loop watches */
};

/* Queues a command, and starts to connect if necessary. Returns false when
 * Redis is away, with errno if the system said why; there will be no
 * reply. */
bool redis_async_queue(struct redis_async *redis,
                      const struct redis_command *command, void *client);

/* Passes on what poll or epoll reported for the socket: POLLIN and so
 * on. */
void redis_async_ready(struct redis_async *redis, uint32_t events);

/* Ends an iteration of the loop: sends what was queued. When replies are
 * due and none has arrived for REDIS_TIMEOUT_MS, closes the connection, and
 * all replies are NULL. (The limit is not for each reply: with ten thousand
 * clients, the last one waits long for a Redis that is in perfect
 * health.) */
void redis_async_flush(struct redis_async *redis);

/* Returns when Redis has been silent for too long, in monotonic
 * milliseconds; INT64_MAX: no reply is due. */
int64_t redis_async_deadline_ms(const struct redis_async *redis);

/* Closes the connection; replies that are due are NULL. */
void redis_async_close(struct redis_async *redis);
