/* redis_async - Redis for an event loop; see redis_async.h. */
#include "redis_async.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>

enum { READS_PER_EVENT = 16 };

/* A command that waits for its reply, as hiredis carries it for us. */
struct pending {
    struct redis_async *store;
    redis_async_reply *on_reply;
    void *client;
};

/* The adapter. hiredis calls these to say what it waits for; they only note it,
 * and redis_async_flush() tells the loop, once per turn. All are idempotent, as
 * hiredis calls add_write with every command. */
static void add_read(void *data)
{
    ((struct redis_async *)data)->want_read = true;
}

static void del_read(void *data)
{
    ((struct redis_async *)data)->want_read = false;
}

static void add_write(void *data)
{
    ((struct redis_async *)data)->want_write = true;
}

static void del_write(void *data)
{
    ((struct redis_async *)data)->want_write = false;
}

static void update_watch(struct redis_async *s)
{
    if (s->want_read == s->watched_read && s->want_write == s->watched_write)
        return;
    s->watched_read = s->want_read;
    s->watched_write = s->want_write;
    s->watch(s->loop, s->fd, s->want_read, s->want_write);
}

/* The context is going, and its descriptor with it. There is no newer one yet:
 * in the callbacks of a dying context it is too early to connect again, as
 * `now_ms` stands still within a turn and the back-off has just begun. */
static void cleanup(void *data)
{
    struct redis_async *s = data;
    s->want_read = s->want_write = false;
    update_watch(s);
}

/* Redis is away: no attempt to connect before the back-off is over. */
static void note_failure(struct redis_async *s)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    s->redis = NULL;
    s->backoff_ms = s->backoff_ms == 0 ? REDIS_BACKOFF_FIRST_MS
                                       : s->backoff_ms * 2;
    if (s->backoff_ms > REDIS_BACKOFF_MAX_MS)
        s->backoff_ms = REDIS_BACKOFF_MAX_MS;
    s->retry_ms = (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000 +
                  s->backoff_ms;
}

static void on_connect(const redisAsyncContext *redis, int status)
{
    struct redis_async *s = redis->data;
    if (status != REDIS_OK && s->redis == redis)
        note_failure(s);
}

static void on_disconnect(const redisAsyncContext *redis, int status)
{
    struct redis_async *s = redis->data;
    (void)status;
    if (s->redis == redis)
        note_failure(s);
}

void redis_async_init(struct redis_async *s,
                      const struct redis_address *address, void *loop,
                      void (*watch)(void *loop, int fd, bool read, bool write))
{
    *s = (struct redis_async){
        .address = address, .fd = -1, .watch = watch, .loop = loop};
}

static bool begin_connect(struct redis_async *s, int64_t now_ms)
{
    const struct redis_address *a = s->address;
    if (a->none || now_ms < s->retry_ms ||
        !redis_has_memory(REDIS_CONNECT_MEMORY))
        return false;
    redisAsyncContext *redis = a->path != NULL
                                   ? redisAsyncConnectUnix(a->path)
                                   : redisAsyncConnect(a->host, a->port);
    if (redis == NULL || redis->err != 0) {
        if (redis != NULL)
            redisAsyncFree(redis);
        note_failure(s);
        return false;
    }
    s->redis = redis;
    s->fd = redis->c.fd;
    s->out_of_step = false;
    s->want_read = s->want_write = false;
    s->watched_read = s->watched_write = false;
    redis_reply_use(redis->c.reader, &s->reply);
    redis->data = s;
    /* The hooks first: setting the connect callback already calls add_write,
     * as a socket that becomes writable is how connecting ends. */
    redis->ev.data = s;
    redis->ev.addRead = add_read;
    redis->ev.delRead = del_read;
    redis->ev.addWrite = add_write;
    redis->ev.delWrite = del_write;
    redis->ev.cleanup = cleanup;
    redisAsyncSetConnectCallback(redis, on_connect);
    redisAsyncSetDisconnectCallback(redis, on_disconnect);
    return true;
}

/* Has Redis said more than it was asked? Then it is no Redis, or we have lost
 * count, and the next reply would be taken for somebody else's. hiredis would end
 * the process over it, by assert(3). */
static bool said_too_much(const struct redis_async *s,
                          const redisAsyncContext *redis)
{
    return s->due == 0 && redis->c.reader->pos < redis->c.reader->len;
}

static void on_reply(redisAsyncContext *redis, void *reply, void *data)
{
    struct pending *pending = data;
    struct redis_async *s = pending->store;
    struct pending p = *pending;
    free(pending);
    s->due--;
    s->progress_ms = s->now_ms;
    /* No reply: this context is dying, so nobody may queue on it any more. */
    if (reply == NULL && s->redis == redis)
        note_failure(s);
    /* A reply, not only a connection: what is frozen can be connected to. */
    if (reply != NULL)
        s->backoff_ms = 0;
    if (reply != NULL && s->redis == redis && said_too_much(s, redis))
        redis_async_close(s); /* within a callback: it goes after that */
    p.on_reply(p.client, reply);
}

/* hiredis 0.14 does not look whether it could note who waits for the reply. A
 * reply too many would go to the wrong client, and so would all after it. */
static bool lost_count(const struct redis_async *s,
                       const struct pending *pending)
{
    const redisCallback *last = s->redis->replies.tail;
    return last == NULL || last->privdata != pending;
}

/* Has memory run out? Then what hiredis was told and what it sends may differ. */
static bool is_spoilt(const struct redis_async *s)
{
    return s->out_of_step || s->redis->c.err != 0 ||
           (s->want_write && !redis_has_memory(REDIS_WRITE_MEMORY));
}

bool redis_async_send(struct redis_async *s, int64_t now_ms,
                      const struct redis_command *command,
                      redis_async_reply *callback, void *client)
{
    if (s->redis == NULL && !begin_connect(s, now_ms))
        return false;
    struct pending *pending = malloc(sizeof *pending);
    if (pending == NULL)
        return false;
    *pending = (struct pending){s, callback, client};
    buffer_reset(&s->command, REDIS_KEEP_BUFFER);
    redis_append_command(&s->command, command);
    /* hiredis looks for SUBSCRIBE and its kin with strchr(3): up to a NUL. */
    buffer_append_literal(&s->command, "\0");
    if (s->command.failed ||
        redisAsyncFormattedCommand(s->redis, on_reply, pending,
                                   s->command.data,
                                   s->command.len - 1) != REDIS_OK) {
        free(pending);
        return false;
    }
    if (lost_count(s, pending)) {
        s->out_of_step = true;
        free(pending);
        return false;
    }
    if (s->due++ == 0)
        s->progress_ms = now_ms;
    return true;
}

int redis_async_timeout(const struct redis_async *s, int64_t now_ms)
{
    int64_t left = s->progress_ms + REDIS_TIMEOUT_MS - now_ms;
    if (s->due == 0)
        return -1;
    return left > 0 ? (int)left : 0;
}

void redis_async_flush(struct redis_async *s, int64_t now_ms)
{
    if (s->redis != NULL &&
        (redis_async_timeout(s, now_ms) == 0 || is_spoilt(s)))
        redis_async_close(s);
    if (s->redis == NULL)
        return;
    /* Most often the socket has room, so write without asking first. (This may
     * find the connection broken and free the context.) */
    if (s->want_write && (s->redis->c.flags & REDIS_CONNECTED))
        redisAsyncHandleWrite(s->redis);
    if (s->redis != NULL)
        update_watch(s);
}

void redis_async_event(struct redis_async *s, int64_t now_ms, bool readable,
                       bool writable)
{
    s->now_ms = now_ms;
    if (s->redis != NULL && is_spoilt(s))
        redis_async_close(s);
    if (s->redis != NULL && writable && s->want_write)
        redisAsyncHandleWrite(s->redis);
    if (s->redis == NULL || !readable)
        return;
    if (s->due == 0) {
        /* It has ended the connection, as Redis does with one that is idle for
         * long, or talks unasked. The next page may connect at once. (There is
         * no callback to wait for: the context goes now, see cleanup().) */
        redisAsyncContext *redis = s->redis;
        s->redis = NULL;
        redisAsyncFree(redis);
        return;
    }
    /* hiredis reads 16 KiB at a time: three lists of remarks. To go back to the
     * loop for every three pages would cost 06 a look at all its clients each
     * time. The context may end at each step; s->redis tells. */
    int left = 1;
    for (int i = 0; i < READS_PER_EVENT && s->redis != NULL && s->due > 0 &&
                    left > 0; i++) {
        redisAsyncHandleRead(s->redis);
        if (s->redis == NULL || ioctl(s->fd, FIONREAD, &left) < 0)
            left = 0;
    }
}

void redis_async_close(struct redis_async *s)
{
    redisAsyncContext *redis = s->redis;
    if (redis == NULL)
        return;
    note_failure(s); /* before the callbacks, which may want to send again */
    redisAsyncFree(redis);
}

void redis_async_free(struct redis_async *s)
{
    redis_async_close(s);
    buffer_free(&s->command);
    redis_reply_free(&s->reply);
}
