/*
 * redis_reply - the memory of a reply of Redis.
 *
 * hiredis makes each element of a reply of two pieces, from calloc(3) and from
 * malloc(3), and frees them one by one: two hundred for a page of a hundred
 * remarks. All of them live for one moment and end together. hiredis' reader
 * lets its user make the objects instead (redisReplyObjectFunctions); here they
 * are cut from one block, each behind the one before, and to free them is to
 * begin at the block's start again.
 */
#ifndef REDIS_REPLY_H
#define REDIS_REPLY_H

#include <stddef.h>

#include <hiredis/hiredis.h>

struct redis_reply_piece;

/* Room for one reply at a time. All zero is valid, and has no memory yet. */
struct redis_reply_memory {
    char *block;
    size_t used;                      /* bytes of the block */
    struct redis_reply_piece *pieces; /* what the block has no room for */
    redisReplyObjectFunctions functions;
};

/* From now on the replies of this reader are made in `memory`, which must
 * outlive it. They are redisReply objects as ever, but lent: one is valid until
 * the reader begins the next, and must not go to freeReplyObject(). */
void redis_reply_use(redisReader *reader, struct redis_reply_memory *memory);

/* Gives all memory back; the last reply is no longer valid, and the reader can go
 * on. */
void redis_reply_free(struct redis_reply_memory *memory);

#endif
