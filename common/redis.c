/* store - one blocking connection to Redis; see store.h. */
#include "redis.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "clock.h"

void redis_init(struct redis *store, const struct redis_address *address)
{
    *store = (struct redis){.address = address};
}

void redis_close(struct redis *store)
{
    if (store->redis != NULL)
        redisFree(store->redis);
    store->redis = NULL;
    buffer_free(&store->out);
    redis_reply_free(&store->reply);
}

/* Redis is away. Without back-off a hundred workers would knock at a Redis that
 * is just starting with every request, and at one that hangs each page would
 * wait in vain; doubling keeps the knocking rare and the recovery quick. */
static void note_failure(struct redis *store)
{
    redis_close(store);
    store->backoff_ms = store->backoff_ms == 0 ? REDIS_BACKOFF_FIRST_MS
                                               : store->backoff_ms * 2;
    if (store->backoff_ms > REDIS_BACKOFF_MAX_MS)
        store->backoff_ms = REDIS_BACKOFF_MAX_MS;
    store->retry_ms = clock_monotonic_ms() + store->backoff_ms;
}

bool redis_has_memory(size_t size)
{
    /* volatile: or the compiler sees through it, and leaves both calls out. */
    void *volatile probe = malloc(size);
    free(probe);
    return probe != NULL;
}

/* Returns a socket that is connected to Redis, or -1. In place of hiredis'
 * redisConnectWithTimeout(), which reads the address from text each time, ends
 * the process when memory is short, and takes six system calls more; a child of
 * 02 has to fault in what code that needs, and connects for each page. */
static int connect_to(const struct redis_address *a)
{
    const struct timeval wait = {.tv_usec = REDIS_WAIT_MS * 1000L};
    int on = 1, done;
    int fd = socket(a->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    /* A Redis that is stopped but connected must not hold this server for ever.
     * For connect(2), too, SO_SNDTIMEO is how long it waits. */
    if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait) < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait) < 0)
        goto fail;
    /* The end of a long command would wait for Redis to have acknowledged what
     * came before it (Nagle). A unix socket knows no such option. */
    if (a->path == NULL)
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    do /* on Linux this goes on waiting after a signal, and for as long again;
          elsewhere it would be EALREADY, and poll(2) to wait with */
        done = connect(fd, (const struct sockaddr *)&a->address,
                       a->address_length);
    while (done < 0 && errno == EINTR);
    if (done == 0)
        return fd;
fail:
    close(fd);
    return -1;
}

static bool redis_connect(struct redis *store, int64_t now_ms)
{
    const struct redis_address *a = store->address;
    if (a->none || now_ms < store->retry_ms)
        return false;
    int fd = connect_to(a);
    if (fd >= 0 && (store->redis = redisConnectFd(fd)) != NULL) {
        redis_reply_use(store->redis->reader, &store->reply);
        return true;
    }
    if (fd >= 0)
        close(fd);
    note_failure(store);
    return false;
}

/* Has Redis said more than it was asked? The next reply would not be the next
 * question's. */
static bool said_too_much(const struct redis *store)
{
    return store->redis->reader->pos < store->redis->reader->len;
}

/* Has Redis gone away while we did not look? A peek tells: end of file, an
 * error, or bytes that nobody asked for. Finding out now matters for a POST: a
 * command lost in a dead connection cannot be sent again, as nobody knows
 * whether it was carried out. A connection that was used a moment ago is as good
 * as proven, and is spared the system call. */
static bool is_stale(const struct redis *store, int64_t now_ms)
{
    char byte;
    if (now_ms - store->used_ms < 50)
        return false;
    ssize_t n = recv(store->redis->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return !(n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK));
}

bool redis_begin(struct redis *store, int64_t now_ms)
{
    store->deadline_ms = now_ms + REDIS_TIMEOUT_MS;
    /* What another page could not send, for want of memory, is not this page's
     * to send, nor is the failure. */
    buffer_reset(&store->out, REDIS_KEEP_BUFFER);
    if (store->redis != NULL &&
        (said_too_much(store) || is_stale(store, now_ms)))
        redis_close(store);
    return store->redis != NULL || redis_connect(store, now_ms);
}

static void append_length(struct buffer *out, char type, size_t length)
{
    buffer_append(out, &type, 1);
    buffer_append_uint(out, length);
    buffer_append_literal(out, "\r\n");
}

/* In place of hiredis' redisFormatCommandArgv(), which writes each length with
 * a format string: a quarter of all instructions of a guestbook page. */
void redis_append_command(struct buffer *out,
                          const struct redis_command *command)
{
    append_length(out, '*', (size_t)command->argc);
    for (int i = 0; i < command->argc; i++) {
        append_length(out, '$', command->argvlen[i]);
        buffer_append(out, command->argv[i], command->argvlen[i]);
        buffer_append_literal(out, "\r\n");
    }
}

bool redis_send(struct redis *store, const struct redis_command *command)
{
    if (store->redis == NULL)
        return false;
    redis_append_command(&store->out, command);
    return !store->out.failed;
}

/* In place of hiredis' redisBufferWrite(), which makes a new buffer after each
 * write and, in version 0.14, does not look whether it got one. */
static bool write_commands(struct redis *store)
{
    const struct buffer *out = &store->out;
    size_t written = 0;
    while (written < out->len) {
        ssize_t n = send(store->redis->fd, out->data + written,
                         out->len - written, 0);
        if (n < 0 && errno != EINTR)
            return false;
        written += n > 0 ? (size_t)n : 0;
    }
    buffer_reset(&store->out, REDIS_KEEP_BUFFER);
    return true;
}

/* What redisGetReply() does, in its three steps, so that there is a deadline
 * between them: a Redis that drips a byte now and then would satisfy the
 * socket's time-out for ever. */
const redisReply *redis_receive(struct redis *store)
{
    redisContext *redis = store->redis;
    void *reply = NULL;

    if (redis == NULL)
        return NULL;
    if (store->out.failed || !write_commands(store))
        goto fail;
    for (;;) {
        if (redisGetReplyFromReader(redis, &reply) != REDIS_OK)
            goto fail; /* not the Redis protocol */
        if (reply != NULL)
            break;
        if (redisBufferRead(redis) != REDIS_OK)
            goto fail; /* time-out, end of file, error */
        store->used_ms = clock_monotonic_ms();
        if (store->used_ms > store->deadline_ms)
            goto fail;
    }
    store->backoff_ms = 0; /* a connection alone proves nothing */
    return reply;
fail:
    note_failure(store);
    return NULL;
}
