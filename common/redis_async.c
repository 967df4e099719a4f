/* redis_async - Redis for an event loop; see redis_async.h. */
#include "redis_async.h"

#include <poll.h>
#include <sys/ioctl.h>

#include "shortage.h"

enum { READS_PER_EVENT = 16 };

/* The adapter: hiredis calls these to say what it waits for. It calls
 * add_write for every command, so they only set a flag; tell_loop()
 * passes the flags on once an iteration, and only if they have changed.
 * redisAsyncHandleWrite() sends, calls del_write if nothing is left, and
 * add_read: so the loop mostly sees POLLIN only. */
static void add_read(void *data)
{
    ((struct redis_async *)data)->wanted |= POLLIN;
}

static void add_write(void *data)
{
    ((struct redis_async *)data)->wanted |= POLLOUT;
}

static void del_write(void *data)
{
    ((struct redis_async *)data)->wanted &= ~POLLOUT;
}

static void tell_loop(struct redis_async *redis)
{
    if (redis->wanted == redis->watched)
        return;
    redis->watched = redis->wanted;
    redis->watch(redis->loop, redis->fd, redis->wanted);
}

/* Forgets the context, whose descriptor hiredis is about to close. */
static void forget(struct redis_async *redis, bool failed)
{
    redis->wanted = 0;
    tell_loop(redis);
    redis->context = NULL;
    if (failed) /* callbacks that want to send again are refused */
        redis_backoff_failed(&redis->backoff, redis->clock->now_ms);
}

/* Connecting has failed, Redis has closed the connection, or we have. */
static void cleanup(void *data)
{
    struct redis_async *redis = data;
    if (redis->context != NULL)
        forget(redis, true);
}

static bool start_connecting(struct redis_async *redis)
{
    const struct redis_address *a = redis->address;
    if (!redis_may_connect(a, &redis->backoff, redis->clock->now_ms))
        return false;
    redisAsyncContext *context = a->path != NULL
                                     ? redisAsyncConnectUnix(a->path)
                                     : redisAsyncConnect(a->host, a->port);
    if (context == NULL || context->err != 0) {
        int error = errno;
        if (context != NULL)
            redisAsyncFree(context);
        /* A shortage of our own says nothing about Redis. */
        if (!is_shortage(error))
            redis_backoff_failed(&redis->backoff, redis->clock->now_ms);
        errno = error;
        return false;
    }
    redis->context = context;
    redis->fd = context->c.fd;
    redis->wanted = redis->watched = 0;
    redis_bound_replies(context->c.reader, &redis->bounds);
    context->data = context->ev.data = redis;
    context->ev.addRead = add_read;
    context->ev.addWrite = add_write;
    context->ev.delWrite = del_write;
    context->ev.cleanup = cleanup;
    return true;
}

/* hiredis calls it for each reply, in redisAsyncHandleRead(); with NULL when
 * the connection ends and there will be none. */
static void replied(redisAsyncContext *context, void *reply, void *client)
{
    struct redis_async *redis = context->data;
    const redisReader *reader = context->c.reader;
    redis->due--;
    redis->progress_ms = redis->clock->now_ms;
    if (reply != NULL)
        redis->backoff.delay_ms = 0; /* connecting alone proves nothing */
    else if (redis->context != NULL) /* this context is being freed */
        forget(redis, true);
    /* A server that sends more than it was asked for is no Redis: the next
     * reply would go to the wrong client, and hiredis would abort(3). */
    if (reply != NULL && redis->due == 0 && reader->pos < reader->len) {
        forget(redis, true);
        redisAsyncFree(context);
    }
    redis->deliver(redis->loop, client, reply); /* client_replied() */
}

bool redis_async_queue(struct redis_async *redis,
                      const struct redis_command *command, void *client)
{
    const bool is_new = redis->context == NULL;
    if (is_new && !start_connecting(redis))
        return false;
    /* This copies the words into hiredis' output buffer. redis_async_flush()
     * sends them, or once a new connection stands redis_async_ready(). */
    if (redisAsyncCommandArgv(redis->context, replied, client, command->argc,
                              (const char **)(uintptr_t)command->argv,
                              NULL) != REDIS_OK) {
        /* A new connection would stay unwatched, without a deadline for its
         * handshake. (An old one may be the caller: leave it.) */
        if (is_new)
            redis_async_close(redis);
        return false;
    }
    if (redis->due++ == 0)
        redis->progress_ms = redis->clock->now_ms;
    return true;
}

void redis_async_ready(struct redis_async *redis, uint32_t events)
{
    if (events & (POLLERR | POLLHUP)) /* the calls below find out why */
        events |= POLLIN | POLLOUT;
    /* On a new connection this finishes connect(2), too: hiredis then sets
     * REDIS_CONNECTED, and writes. */
    if (redis->context != NULL && ((unsigned)redis->wanted & events & POLLOUT))
        redisAsyncHandleWrite(redis->context);
    if (!(events & POLLIN))
        return;
    /* Redis owes no reply: it has closed, or sends what no command asked
     * for. */
    if (redis->due == 0)
        redis_async_close(redis);
    /* hiredis reads 16 KiB at a time, about three lists of remarks. If
     * there is more, it is read now, up to READS_PER_EVENT times: otherwise
     * 06 would look at all its clients between two pieces. */
    int unread = 1;
    for (int i = 0; i < READS_PER_EVENT && unread > 0 && redis->due > 0; i++) {
        /* If this closes the connection, all replies have been delivered,
         * as NULL: none is due. */
        redisAsyncHandleRead(redis->context);
        if (redis->due > 0 && redis_reply_is_too_long(redis->context->c.reader))
            redis_async_close(redis);
        if (redis->due > 0)
            ioctl(redis->fd, FIONREAD, &unread);
    }
}

void redis_async_flush(struct redis_async *redis)
{
    if (redis_async_deadline_ms(redis) <= redis->clock->now_ms)
        redis_async_close(redis);
    /* Mostly the socket takes all, so write without asking the kernel first.
     * This may find the connection broken, and free the context. */
    if (redis->context != NULL && (redis->wanted & POLLOUT) &&
        (redis->context->c.flags & REDIS_CONNECTED))
        redisAsyncHandleWrite(redis->context);
    if (redis->context != NULL)
        tell_loop(redis);
}

int64_t redis_async_deadline_ms(const struct redis_async *redis)
{
    return redis->due > 0 ? redis->progress_ms + REDIS_TIMEOUT_MS : INT64_MAX;
}

void redis_async_close(struct redis_async *redis)
{
    redisAsyncContext *context = redis->context;
    if (context == NULL)
        return;
    forget(redis, redis->due > 0);
    redisAsyncFree(context);
}
