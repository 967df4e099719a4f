/* redis - one blocking connection to Redis; see redis.h. */
#include "redis.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "clock.h"
#include "shortage.h"

enum { BACKOFF_FIRST_MS = 10, BACKOFF_MAX_MS = 500 };
enum { CONNECT_MEMORY = 32 * 1024 }; /* more than hiredis needs to connect */

bool redis_may_connect(const struct redis_address *address,
                       const struct redis_backoff *backoff, int64_t now_ms)
{
    errno = EAGAIN;
    if (address->none || now_ms < backoff->retry_ms)
        return false;
    /* volatile: or the compiler removes both calls. */
    void *volatile probe = malloc(CONNECT_MEMORY);
    free(probe);
    if (probe == NULL)
        errno = ENOMEM;
    return probe != NULL;
}

void redis_backoff_failed(struct redis_backoff *backoff, int64_t now_ms)
{
    backoff->delay_ms *= 2;
    if (backoff->delay_ms == 0)
        backoff->delay_ms = BACKOFF_FIRST_MS;
    if (backoff->delay_ms > BACKOFF_MAX_MS)
        backoff->delay_ms = BACKOFF_MAX_MS;
    backoff->retry_ms = now_ms + backoff->delay_ms;
}

#if HIREDIS_MAJOR >= 1
typedef size_t element_count;
#else
typedef int element_count; /* not negative */
#endif

/* These two take the place of hiredis' functions; task->privdata is the
 * reader's. No command of ours is answered with an array in an array: at
 * seven levels of them, each byte of a reply could make hiredis allocate
 * hundreds. */
static void *create_array(const redisReadTask *task, element_count elements)
{
    struct redis_bounds *bounds = task->privdata;
    bounds->bytes = 0;
    if (task->parent != NULL || elements > REDIS_ELEMENTS_MAX)
        return NULL;
    return bounds->original->createArray(task, elements);
}

static void *create_string(const redisReadTask *task, char *text, size_t length)
{
    struct redis_bounds *bounds = task->privdata;
    if (task->parent == NULL)
        bounds->bytes = 0; /* the whole reply is one string */
    bounds->bytes += length;
    if (bounds->bytes > REDIS_REPLY_BYTES_MAX)
        return NULL;
    return bounds->original->createString(task, text, length);
}

void redis_bound_replies(redisReader *reader, struct redis_bounds *bounds)
{
    *bounds = (struct redis_bounds){.functions = *reader->fn,
                                    .original = reader->fn};
    bounds->functions.createArray = create_array;
    bounds->functions.createString = create_string;
    reader->privdata = bounds;
    reader->fn = &bounds->functions;
}

bool redis_reply_is_too_long(const redisReader *reader)
{
    /* Each element has a line with its length, and a line end. */
    const size_t lengths = 32 * REDIS_ELEMENTS_MAX;
    return reader->len - reader->pos > REDIS_REPLY_BYTES_MAX + lengths;
}

void redis_close(struct redis *redis)
{
    if (redis->context != NULL)
        redisFree(redis->context);
    redis->context = NULL;
}

static void fail(struct redis *redis)
{
    redis_close(redis);
    redis_backoff_failed(&redis->backoff, clock_monotonic_ms());
}

static bool try_connect(struct redis *redis, int64_t now_ms)
{
    const struct timeval wait = {.tv_usec = REDIS_WAIT_MS * 1000L};
    const struct redis_address *a = redis->address;
    if (!redis_may_connect(a, &redis->backoff, now_ms))
        return false;
    do { /* again after a signal: hiredis gives up when poll(2) says EINTR */
        redis_close(redis);
        errno = 0;
        redis->context = a->path != NULL
                             ? redisConnectUnixWithTimeout(a->path, wait)
                             : redisConnectWithTimeout(a->host, a->port, wait);
    } while (redis->context != NULL && redis->context->err == REDIS_ERR_IO &&
             errno == EINTR && clock_monotonic_ms() < now_ms + REDIS_WAIT_MS);
    /* Without a timeout for reading, a Redis that hangs would hold this
     * worker for ever. */
    if (redis->context == NULL || redis->context->err != 0 ||
        redisSetTimeout(redis->context, wait) != REDIS_OK) {
        int error = errno;
        redis_close(redis);
        if (!is_shortage(error)) /* one of ours says nothing about Redis */
            redis_backoff_failed(&redis->backoff, clock_monotonic_ms());
        errno = error;
        return false;
    }
    redis_bound_replies(redis->context->reader, &redis->bounds);
    return true;
}

/* Has Redis closed the connection since we used it, or sent something that
 * was not asked for? Finding out before a POST matters: when a command is
 * lost with its connection, it may or may not have been executed, so it
 * must not be sent again. */
static bool is_stale(const redisContext *context)
{
    char byte;
    return context->reader->pos < context->reader->len ||
           recv(context->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 ||
           errno != EAGAIN;
}

bool redis_begin(struct redis *redis, int64_t now_ms)
{
    redis->deadline_ms = now_ms + REDIS_TIMEOUT_MS;
    if (redis->context != NULL && is_stale(redis->context))
        redis_close(redis);
    return redis->context != NULL || try_connect(redis, now_ms);
}

bool redis_queue(struct redis *redis, const struct redis_command *command)
{
    /* hiredis takes no pointer to const pointers, but does not write
     * there. */
    return redis->context != NULL &&
           redisAppendCommandArgv(redis->context, command->argc,
                                  (const char **)(uintptr_t)command->argv,
                                  NULL) == REDIS_OK;
}

/* redisGetReply() in its three steps, with a deadline between them: Redis
 * could satisfy the socket's timeout for ever by sending single bytes. */
redisReply *redis_receive(struct redis *redis)
{
    redisContext *context = redis->context;
    void *reply = NULL;
    int sent = 0;

    if (context == NULL)
        return NULL;
    while (!sent && context->err == 0)
        redisBufferWrite(context, &sent);
    while (context->err == 0 && clock_monotonic_ms() <= redis->deadline_ms &&
           redisGetReplyFromReader(context, &reply) == REDIS_OK) {
        if (reply != NULL) {
            redis->backoff.delay_ms = 0; /* connecting alone proves nothing */
            return reply;
        }
        redisBufferRead(context);
        if (redis_reply_is_too_long(context->reader))
            break;
    }
    fail(redis);
    return NULL;
}
