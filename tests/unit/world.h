/*
 * world - a server, a Redis and clients that exist in memory only.
 *
 * What http_conn says of itself, that it waits for nothing and knows no
 * socket, is what makes this possible: the driver in world.c is a third one
 * beside blocking.c and nonblocking.c, and it neither waits nor goes away, for
 * its client is made up. Unit tests and fuzz targets share it.
 *
 * The site:
 *     /               index.html, "home\n"
 *     /notes.txt      "0123456789"
 *     /empty.txt      nothing
 *     /big.bin        WORLD_BIG_SIZE bytes: too large to be kept in memory
 *     /folder/        index.html, "inside\n"
 *     /.hidden, /folder/.hidden
 *     /pictures/one.svg, which /redirect names
 * each last modified at WORLD_MODIFIED, and a guestbook template of one line,
 *     [$MESSAGE$][$GUEST_NAME$][$GUEST_TEXT$][$VISITOR_COUNT$]$GUEST_REMARKS$
 */
#ifndef WORLD_H
#define WORLD_H

#include "folder.h"
#include "http_conn.h"

enum {
    WORLD_NOW = 784111777,      /* Sun, 06 Nov 1994 08:49:37 GMT */
    WORLD_MODIFIED = 784000000, /* Sat, 05 Nov 1994 01:46:40 GMT */
    WORLD_BIG_SIZE = 70000,
};

struct world {
    struct server server;
    struct worker worker;
    struct folder folder;

    /* The made-up Redis: returns the reply to a command, good until it is asked
     * again, or NULL when it is away. world_create() sets one that behaves;
     * another may take its place. */
    const redisReply *(*redis)(struct world *world,
                               const struct redis_command *command);
    int commands;         /* that it was given */
    struct buffer signed_with; /* the last remark that it was given */
    long long visitors;
    char number[24];
};

/* Makes a world in which nothing has happened yet. What goes wrong ends the
 * program. */
void world_create(struct world *world);
void world_destroy(struct world *world);

/* What world_create() puts into world->redis: two remarks are there already,
 * "first - Ada" and "second - Grace", and they stay all. */
const redisReply *world_redis(struct world *world,
                              const struct redis_command *command);

/* Lets time pass for the worker; a real clock does not matter here. */
void world_pass(struct world *world, int64_t milliseconds);

struct client {
    struct world *world;
    struct http_conn conn;
    struct slice unread;    /* sent, and not yet read by the connection */
    struct buffer received; /* all that was written to the client */
    /* How much of at most n bytes the next read or write takes, 1 to n. NULL:
     * all of them. */
    size_t (*portion)(void *data, size_t n);
    void *portion_data;
    bool held_back; /* the last write waits for something that follows */
    bool finished;  /* FIN was sent */
};

void client_connect(struct client *client, struct world *world);

/* Gives the connection bytes and lets it go on until it wants more of them or
 * is over. Returns which: HTTP_WANT_READ or HTTP_WANT_CLOSE. */
enum http_want client_send(struct client *client, struct slice bytes);

/* The same for a string literal. */
#define client_says(client, literal) client_send((client), SLICE(literal))

/* Goes on with what was sent before, by one step: one read, one write, or one
 * turn with Redis. Returns false when there is none to be made. */
bool client_step(struct client *client);

/* Goes on as far as it goes, as client_send() does. */
enum http_want client_run(struct client *client);

/* Forgets what was received. */
void client_forget(struct client *client);

/* Ends the connection, wherever it is. */
void client_disconnect(struct client *client);

#endif
