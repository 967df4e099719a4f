/*
 * redis_async - one pipelined connection to Redis for a whole event loop.
 *
 * Commands of all clients go down the same connection, one behind the other,
 * and the replies come back in that order: Redis needs no tags. What is queued
 * during a turn of the loop leaves in one write at its end, so the busier the
 * loop, the fewer the system calls a page.
 *
 * hiredis' asynchronous API does the work and wants to be told what happens on
 * its socket. The loop offers one function for that, watch(); here is the
 * adapter between the two, as hiredis' own adapters/ have it for libevent and
 * others.
 */
#ifndef REDIS_ASYNC_H
#define REDIS_ASYNC_H

#include <stdbool.h>
#include <stdint.h>

#include <hiredis/async.h>

#include "redis.h"

struct redis_async {
    const struct redis_address *address;
    redisAsyncContext *redis; /* NULL: no connection */
    int64_t retry_ms;         /* do not try to connect before this time */
    int backoff_ms;
    unsigned due;             /* replies that have not come yet */
    int64_t progress_ms;      /* when the last one came, or the first of those
                                 that are due was asked for */
    int64_t now_ms;           /* at the event that is being handled */
    struct buffer command;    /* the one that is being queued */
    struct redis_reply_memory reply;
    bool out_of_step;         /* replies and questions do not match any more */
    bool want_read, want_write;       /* what hiredis waits for */
    bool watched_read, watched_write; /* what the loop watches */
    int fd;
    /* Tells the loop what to watch fd for, level-triggered; both false: no
     * longer at all (it is about to be closed). */
    void (*watch)(void *loop, int fd, bool read, bool write);
    void *loop;
};

/* Called with each reply, or NULL when there will be none; `reply` is lent. */
typedef void redis_async_reply(void *client, const redisReply *reply);

void redis_async_init(struct redis_async *s,
                      const struct redis_address *address, void *loop,
                      void (*watch)(void *loop, int fd, bool read, bool write));

/* Queues a command, connecting first where needed (without waiting for it).
 * Returns false when Redis is away; on_reply is not called then. */
bool redis_async_send(struct redis_async *s, int64_t now_ms,
                      const struct redis_command *command,
                      redis_async_reply *on_reply, void *client);

/* Once per turn of the loop, before it waits: writes what was queued. When
 * Redis owes replies and has given none for REDIS_TIMEOUT_MS, it counts as away:
 * the connection is closed, and every reply that is due comes at once, as NULL.
 * (Not each reply has its deadline: with ten thousand clients asking, the last
 * one waits long behind a Redis that is in the best of health.) */
void redis_async_flush(struct redis_async *s, int64_t now_ms);

/* For how many milliseconds Redis may still keep silent; -1: it owes nothing. */
int redis_async_timeout(const struct redis_async *s, int64_t now_ms);

/* What poll or epoll said about the socket. Errors count as both. */
void redis_async_event(struct redis_async *s, int64_t now_ms, bool readable,
                       bool writable);

/* Closes the connection. Every reply that is due comes at once, as NULL. */
void redis_async_close(struct redis_async *s);

/* The same, and gives the memory back; not within a callback. */
void redis_async_free(struct redis_async *s);

#endif
