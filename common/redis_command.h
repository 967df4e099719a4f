/*
 * redis_command - what a page asks of Redis, as data.
 *
 * A page never calls Redis. It queues commands, each an array of words, and
 * is called back with each reply. The drivers send them, by redis.h or
 * redis_async.h.
 */
#pragma once

/* hiredis' redisReply. A file that reads one includes <hiredis/hiredis.h>. */
struct redisReply;

enum { REDIS_ARGS_MAX = 8 };

struct redis_command {
    int argc;
    const char *argv[REDIS_ARGS_MAX]; /* not owned; valid until sent */
    int reply_type; /* of a reply that is no error: REDIS_REPLY_... */
};
