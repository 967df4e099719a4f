/* What a Redis could reply: the first byte chooses the page, the rest is in
 * Redis' own protocol. hiredis reads it, the guestbook has to make a page of it
 * or say that Redis is away; and of what came from there nothing is markup. */
#include <assert.h>
#include <stdlib.h>

#include "../unit/answer.h"
#include "redis.h"
#include "../unit/world.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct world world;
static redisReader *reader;
static struct redis_bounds bounds;
static void *last_reply; /* valid until the next command */

static void free_last_reply(void)
{
    if (last_reply != NULL)
        freeReplyObject(last_reply);
    last_reply = NULL;
}

static const redisReply *next_reply(struct world *w,
                                    const struct redis_command *command)
{
    (void)command;
    w->commands++;
    free_last_reply();
    if (redisReaderGetReply(reader, &last_reply) != REDIS_OK)
        last_reply = NULL; /* redis.c would close the connection */
    return last_reply;
}

static void end_world(void)
{
    world_destroy(&world);
}

/* The only markup is what template and guestbook write. */
static void check_markup(struct slice page)
{
    static const struct slice ours[] = {
        {"<li>", 4}, {"</li>", 5}, {"<p class=\"message ", 18}, {"</p>", 4},
        {"<!DOCTYPE html>", 15}}; /* an error page, which has no guest's text */
    if (slice_has_prefix(page, ours[4]))
        return;
    for (; page.n > 0; page.p++, page.n--) {
        bool known = page.p[0] != '<';
        for (size_t i = 0; i < 4; i++)
            known |= slice_has_prefix(page, ours[i]);
        assert(known);
    }
}

static void serve(struct slice request)
{
    struct client client;
    struct answer answer;
    client_connect(&client, &world);
    assert(client_send(&client, request) == HTTP_WANT_READ);
    struct slice rest = {client.received.data, client.received.len};
    assert(answer_read(&rest, false, &answer) == NULL && rest.n == 0);
    assert(answer.status == 200 || answer.status == 303 ||
           answer.status == 400 || answer.status == 503);
    check_markup(answer.body);
    client_disconnect(&client);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct slice requests[] = {
        SLICE("GET /guestbook HTTP/1.1\r\nHost: a\r\n\r\n"),
        SLICE("GET /guestbook?thanks HTTP/1.1\r\nHost: a\r\n\r\n"),
        SLICE("POST /guestbook HTTP/1.1\r\nHost: a\r\nContent-Length: 30\r\n"
              "Content-Type: application/x-www-form-urlencoded\r\n\r\n"
              "guest-name=Ada&guest-remarks=a"),
        SLICE("POST /guestbook HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n"
              "Content-Type: application/x-www-form-urlencoded\r\n\r\n"),
    };
    if (size == 0)
        return 0;
    if (world.folder.path[0] == '\0') {
        world_create(&world);
        world.redis = next_reply;
        atexit(end_world);
    }
    reader = redisReaderCreate();
    assert(reader != NULL);
    /* Without this, hiredis allocates 8 GB for "*1000000000": to the sanitizer
     * that is an error. */
    redis_bound_replies(reader, &bounds);
    redisReaderFeed(reader, (const char *)data + 1, size - 1);
    world.site.pipeline = (data[0] & 4) != 0;
    serve(requests[data[0] & 3]);
    free_last_reply();
    redisReaderFree(reader);
    return 0;
}
