/*
 * world - a server, a Redis and clients that exist in memory only.
 *
 * http_conn neither waits nor knows a socket, so a test can drive it: world.c
 * holds a third driver, next to serve_blocking.c and event_loop.c, whose client
 * is a byte string. Unit tests and fuzz targets share it.
 *
 * The site:
 *     /               index.html, "home\n"
 *     /notes.txt      "0123456789"
 *     /empty.txt      nothing
 *     /big.bin        WORLD_BIG_SIZE bytes
 *     /folder/        index.html, "inside\n"
 *     /.hidden, /folder/.hidden
 *     /pictures/one.svg, which /redirect names
 * each last modified at WORLD_MODIFIED, and a guestbook template of one line,
 *     [$MESSAGE$][$GUEST_NAME$][$GUEST_TEXT$][$VISITOR_COUNT$]$GUEST_REMARKS$
 */
#ifndef WORLD_H
#define WORLD_H

#include <hiredis/hiredis.h>

#include "folder.h"
#include "http_conn.h"

enum {
    WORLD_NOW = 784111777,      /* Sun, 06 Nov 1994 08:49:37 GMT */
    WORLD_MODIFIED = 784000000, /* Sat, 05 Nov 1994 01:46:40 GMT */
    WORLD_BIG_SIZE = 70000,
};

struct world {
    struct site site;
    struct http_context context;
    struct folder folder;

    /* What the driver says when a request is answered: may the connection stay
     * open afterwards? world_create() sets it to true. */
    bool may_keep;

    /* The Redis: returns the reply to a command, valid until the next command,
     * or NULL when Redis is away. world_create() sets one that behaves; a test
     * may replace it. */
    const redisReply *(*redis)(struct world *world,
                               const struct redis_command *command);
    int commands;              /* how many it has received */
    struct buffer signed_with; /* the remark of the last RPUSH */
    long long visitors;
    char number[24];
};

/* Makes a world in which nothing has happened yet. Ends the program when
 * anything fails. */
void world_create(struct world *world);
void world_destroy(struct world *world);

/* The Redis that world_create() installs. Its list always holds two remarks,
 * "first - Ada" and "second - Grace". */
const redisReply *world_redis(struct world *world,
                              const struct redis_command *command);

/* Moves the context's clock forward; real time plays no part. */
void world_pass(struct world *world, int64_t milliseconds);

struct client {
    struct world *world;
    struct http_conn conn;
    /* Called with each log entry; NULL: no call. */
    void (*on_log)(struct client *client, const struct http_logged *entry);
    struct slice unread;    /* sent, and not yet read by the connection */
    struct buffer received; /* everything that was written to the client */
    /* How much of at most n bytes the next read or write takes, 1 to n. NULL:
     * all of them. */
    size_t (*portion)(void *data, size_t n);
    void *portion_data;
    bool undelivered; /* it acknowledges nothing of what it has received */
    bool held_back;   /* the last write was sent with MSG_MORE */
    bool finished;    /* FIN was sent */
};

void client_connect(struct client *client, struct world *world);

/* Sends bytes and runs the connection until it needs more of them or is over.
 * Returns which: HTTP_WANT_READ, HTTP_WANT_LINGER or HTTP_WANT_CLOSE. */
enum http_want client_send(struct client *client, struct slice bytes);

/* The same for a string literal. */
#define client_says(client, literal) client_send((client), SLICE(literal))

/* Runs one step: one read, one write, or one round trip to Redis, with the
 * answers that it makes possible. Returns false when there is nothing to do. */
bool client_step(struct client *client);

/* Runs all steps that are possible; returns as client_send() does. */
enum http_want client_run(struct client *client);

/* Forgets what was received. */
void client_forget(struct client *client);

/* Is the connection over, except for input that it discards? */
bool client_is_over(struct client *client);

/* Ends the connection in whatever state it is. */
void client_disconnect(struct client *client);

#endif
