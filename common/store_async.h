/*
 * store_async - one pipelined connection to Redis for a whole event loop.
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
#ifndef STORE_ASYNC_H
#define STORE_ASYNC_H

#include <stdbool.h>
#include <stdint.h>

#include <hiredis/async.h>

#include "store.h"

struct store_async {
    const struct store_address *address;
    redisAsyncContext *redis; /* NULL: no connection */
    int64_t retry_ms;         /* do not try to connect before this time */
    int backoff_ms;
    unsigned due;             /* replies that have not come yet */
    int64_t progress_ms;      /* when the last one came, or the first of those
                                 that are due was asked for */
    int64_t now_ms;           /* at the event that is being handled */
    struct buffer command;    /* the one that is being queued */
    struct store_reply_memory reply;
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
typedef void store_async_reply(void *client, const redisReply *reply);

void store_async_init(struct store_async *s,
                      const struct store_address *address, void *loop,
                      void (*watch)(void *loop, int fd, bool read, bool write));

/* Queues a command, connecting first where needed (without waiting for it).
 * Returns false when Redis is away; on_reply is not called then. */
bool store_async_send(struct store_async *s, int64_t now_ms,
                      const struct store_command *command,
                      store_async_reply *on_reply, void *client);

/* Once per turn of the loop, before it waits: writes what was queued. When
 * Redis owes replies and has given none for STORE_TIMEOUT_MS, it counts as away:
 * the connection is closed, and every reply that is due comes at once, as NULL.
 * (Not each reply has its deadline: with ten thousand clients asking, the last
 * one waits long behind a Redis that is in the best of health.) */
void store_async_flush(struct store_async *s, int64_t now_ms);

/* For how many milliseconds Redis may still keep silent; -1: it owes nothing. */
int store_async_timeout(const struct store_async *s, int64_t now_ms);

/* What poll or epoll said about the socket. Errors count as both. */
void store_async_event(struct store_async *s, int64_t now_ms, bool readable,
                       bool writable);

/* Closes the connection. Every reply that is due comes at once, as NULL. */
void store_async_close(struct store_async *s);

/* The same, and gives the memory back; not within a callback. */
void store_async_free(struct store_async *s);

#endif
