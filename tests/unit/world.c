/* world - a server that exists in memory only. */
#include "world.h"

#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "page.h"

static const char page[] =
    "[$MESSAGE$][$GUEST_NAME$][$GUEST_TEXT$][$VISITOR_COUNT$]$GUEST_REMARKS$";

static void add_file(const struct folder *folder, const char *name,
                     const void *bytes, size_t n)
{
    folder_write(folder, name, bytes, n);
    folder_touch(folder, name, WORLD_MODIFIED);
}

static int open_folder(const struct folder *folder, const char *name)
{
    int fd = openat(folder->fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        err(1, "open %s", name);
    return fd;
}

static void build_site(struct world *world)
{
    static char big[WORLD_BIG_SIZE];
    static struct dirent picture = {.d_name = "one.svg"};
    static struct dirent *pictures[] = {&picture};
    static struct site_template guestbook;
    const struct folder *f = &world->folder;

    for (size_t i = 0; i < sizeof big; i++)
        big[i] = (char)('a' + i % 26);
    folder_add(f, "public");
    folder_add(f, "public/folder");
    folder_add(f, "public/pictures");
    add_file(f, "public/index.html", "home\n", 5);
    add_file(f, "public/notes.txt", "0123456789", 10);
    add_file(f, "public/empty.txt", "", 0);
    add_file(f, "public/big.bin", big, sizeof big);
    add_file(f, "public/folder/index.html", "inside\n", 7);
    add_file(f, "public/.hidden", "secret\n", 7);
    add_file(f, "public/folder/.hidden", "secret\n", 7);
    add_file(f, "public/pictures/one.svg", "<svg/>\n", 7);
    world->site.public_folder = open_folder(f, "public");
    guestbook = (struct site_template){"guestbook", slice_of(page), guestbook.hh};
    HASH_ADD_KEYPTR(hh, world->site.templates, guestbook.name,
                    strlen(guestbook.name), &guestbook);
    world->site.pictures = pictures;
    world->site.picture_count = 1;
}

static void set_clock(struct world *world, int64_t now_ms)
{
    struct clock *clock = &world->context.clock;
    clock->now_ms = now_ms;
    clock->seconds = WORLD_NOW + (now_ms - 1000000) / 1000;
}

void world_create(struct world *world)
{
    *world = (struct world){.redis = world_redis, .may_keep = true};
    folder_create(&world->folder);
    build_site(world);

    struct site *s = &world->site;
    s->name = "made-up";
    s->files_per_worker = FILE_TABLE_SIZE;
    s->keep_alive_ms = 5000;
    s->request_timeout_ms = 10000;
    snprintf(s->signature, sizeof s->signature, "made-up");

    http_context_init(&world->context, s, 1);
    set_clock(world, 1000000);
}

void world_destroy(struct world *world)
{
    http_context_free(&world->context);
    HASH_CLEAR(hh, world->site.templates);
    buffer_free(&world->signed_with);
    close(world->site.public_folder);
    folder_remove(&world->folder);
}

void world_pass(struct world *world, int64_t milliseconds)
{
    set_clock(world, world->context.clock.now_ms + milliseconds);
}

/* redisReply has no const members, but nothing writes to these. */
#define STRING_REPLY(text) \
    {.type = REDIS_REPLY_STRING, .str = (text), .len = sizeof(text) - 1}

const redisReply *world_redis(struct world *world,
                              const struct redis_command *command)
{
    static char first[] = "first - Ada", second[] = "second - Grace";
    static redisReply remarks[] = {STRING_REPLY(first), STRING_REPLY(second)};
    static redisReply *list[] = {&remarks[0], &remarks[1]};
    static redisReply lrange = {
        .type = REDIS_REPLY_ARRAY, .elements = 2, .element = list};
    static redisReply integer, string;

    world->commands++;
    struct slice name = slice_of(command->argv[0]);
    if (slice_equal(name, SLICE("LRANGE")))
        return &lrange;
    if (slice_equal(name, SLICE("GET"))) {
        int n = snprintf(world->number, sizeof world->number, "%lld",
                         world->visitors);
        string = (redisReply){.type = REDIS_REPLY_STRING, .len = (size_t)n,
                              .str = world->number};
        return &string;
    }
    if (slice_equal(name, SLICE("RPUSH"))) {
        buffer_reset(&world->signed_with, SIZE_MAX);
        buffer_append_slice(&world->signed_with, slice_of(command->argv[2]));
        integer = (redisReply){.type = REDIS_REPLY_INTEGER, .integer = 3};
        return &integer;
    }
    if (slice_equal(name, SLICE("LTRIM"))) {
        static char ok[] = "OK";
        string = (redisReply){.type = REDIS_REPLY_STATUS, .str = ok, .len = 2};
        return &string;
    }
    integer = (redisReply){.type = REDIS_REPLY_INTEGER,
                           .integer = ++world->visitors};
    return &integer; /* INCR */
}

/* ----------------------------------------------------------------- clients */

void client_connect(struct client *client, struct world *world)
{
    *client = (struct client){.world = world};
    http_conn_open(&client->conn, &world->context);
}

static size_t portion(const struct client *client, size_t n)
{
    return client->portion != NULL && n > 0
               ? client->portion(client->portion_data, n) : n;
}

static void log_answer(struct client *client)
{
    if (client->on_log != NULL)
        client->on_log(client, &client->conn.x->logged);
}

/* Each step below returns whether it did anything. */

static bool give_input(struct client *client)
{
    size_t room;
    if (client->held_back)
        errx(1, "MSG_MORE is set, but neither data nor FIN follows");
    if (client->unread.n == 0)
        return false;
    char *input = http_conn_input(&client->conn, &room);
    if (input == NULL) {
        http_conn_abort(&client->conn);
        return true;
    }
    if (room == 0)
        errx(1, "a connection wants to read but has no room for input");
    size_t n = client->unread.n < room ? client->unread.n : room;
    n = portion(client, n);
    memcpy(input, client->unread.p, n);
    client->unread.p += n;
    client->unread.n -= n;
    http_conn_received(&client->conn, n);
    return true;
}

static bool ask_redis(struct client *client)
{
    struct redis_command commands[PAGE_COMMANDS_MAX];
    const struct redis_command *command;
    int due = 0;
    while ((command = http_conn_next_command(&client->conn)) != NULL)
        commands[due++] = *command;
    for (int i = 0; i < due; i++)
        if (http_conn_reply(&client->conn,
                            client->world->redis(client->world, &commands[i])))
            log_answer(client);
    return due > 0;
}

static bool take_output(struct client *client)
{
    struct http_output output;
    struct buffer *received = &client->received;
    http_conn_output(&client->conn, &output);
    if (output.count == 0)
        errx(1, "a connection wants to write but has no output");
    size_t n = portion(client, output.count);
    if (output.data != NULL) {
        buffer_append(received, output.data, n);
    } else {
        char *room = buffer_reserve(received, n);
        if (pread(output.file, room, n, output.offset) != (ssize_t)n)
            err(1, "pread");
        received->len += n;
    }
    http_conn_sent(&client->conn, n);
    client->held_back = output.more;
    return true;
}

static bool take_fin(struct client *client)
{
    http_conn_fin_sent(&client->conn);
    client->finished = true;
    client->held_back = false;
    return true;
}

static bool linger(struct client *client)
{
    bool more = client->unread.n > 0;
    if (more)
        slice_skip(&client->unread, portion(client, client->unread.n));
    http_conn_lingered(&client->conn, more, client->undelivered
                       ? HTTP_UNDER_WAY : HTTP_DELIVERED);
    return more || http_conn_want(&client->conn) == HTTP_WANT_CLOSE;
}

bool client_step(struct client *client)
{
    struct http_conn *c = &client->conn;
    bool done = false;
    switch (http_conn_want(c)) {
    case HTTP_WANT_READ: done = give_input(client); break;
    case HTTP_WANT_REDIS: done = ask_redis(client); break;
    case HTTP_WANT_WRITE: done = take_output(client); break;
    case HTTP_WANT_FIN: done = take_fin(client); break;
    case HTTP_WANT_LINGER: done = linger(client); break;
    case HTTP_WANT_ANSWER: done = true; break; /* after a timeout: 408 */
    case HTTP_WANT_CLOSE: break;
    }
    while (http_conn_want(c) == HTTP_WANT_ANSWER)
        if (http_conn_answer(c, client->world->may_keep))
            log_answer(client);
    return done;
}

enum http_want client_run(struct client *client)
{
    while (client_step(client))
        ;
    return http_conn_want(&client->conn);
}

enum http_want client_send(struct client *client, struct slice bytes)
{
    client->unread = bytes;
    return client_run(client);
}

void client_forget(struct client *client)
{
    buffer_reset(&client->received, SIZE_MAX);
}

bool client_is_over(struct client *client)
{
    return http_conn_want(&client->conn) == HTTP_WANT_CLOSE ||
           client->conn.state == HTTP_CONN_LINGER;
}

void client_disconnect(struct client *client)
{
    http_conn_abort(&client->conn);
    buffer_free(&client->received);
}
