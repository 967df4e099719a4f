/* redis_reply - the memory of a reply of Redis; see redis_reply.h. */
#include "redis_reply.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

enum { BLOCK_SIZE = 16 * 1024 }; /* a hundred short remarks */

struct redis_reply_piece {
    struct redis_reply_piece *next;
    max_align_t bytes[];
};

static void free_pieces(struct redis_reply_memory *memory)
{
    struct redis_reply_piece *piece, *next;
    LL_FOREACH_SAFE(memory->pieces, piece, next)
        free(piece);
    memory->pieces = NULL;
}

static void *cut(struct redis_reply_memory *memory, size_t size)
{
    const size_t unit = _Alignof(max_align_t);
    if (memory->block == NULL && (memory->block = malloc(BLOCK_SIZE)) == NULL)
        return NULL;
    if (size <= BLOCK_SIZE - memory->used) {
        void *room = memory->block + memory->used;
        size_t units = (size + unit - 1) / unit;
        memory->used += units * unit; /* BLOCK_SIZE is so many units as well */
        return room;
    }
    struct redis_reply_piece *piece = malloc(sizeof *piece + size);
    if (piece == NULL)
        return NULL;
    LL_PREPEND(memory->pieces, piece);
    return piece->bytes;
}

/* Makes one object, with room for `more` bytes behind it, and shows its parent
 * where it is. Returns NULL when there is no memory: hiredis reports that. */
static redisReply *make(const redisReadTask *task, size_t more)
{
    struct redis_reply_memory *memory = task->privdata;
    if (task->parent == NULL) { /* a new reply: nobody reads the last one now */
        free_pieces(memory);
        memory->used = 0;
    }
    redisReply *object = cut(memory, sizeof *object + more);
    if (object == NULL)
        return NULL;
    *object = (redisReply){.type = task->type};
    if (task->parent != NULL)
        ((redisReply *)task->parent->obj)->element[task->idx] = object;
    return object;
}

/* Strings, and with them errors and states: task->type tells. */
static void *make_string(const redisReadTask *task, char *text, size_t length)
{
    redisReply *object = make(task, length + 1);
    if (object == NULL)
        return NULL;
    object->str = (char *)(object + 1);
    object->len = length;
    memcpy(object->str, text, length);
    object->str[length] = '\0';
    return object;
}

#if HIREDIS_MAJOR >= 1
typedef size_t element_count;
#else
typedef int element_count;
#endif

/* The elements follow, each made by a call of its own. */
static void *make_array(const redisReadTask *task, element_count elements)
{
    if ((uintmax_t)elements > SIZE_MAX / 2 / sizeof(redisReply *))
        return NULL;
    redisReply *object =
        make(task, (size_t)elements * sizeof(redisReply *));
    if (object == NULL)
        return NULL;
    object->elements = (size_t)elements;
    object->element = (redisReply **)(object + 1);
    return object;
}

static void *make_integer(const redisReadTask *task, long long value)
{
    redisReply *object = make(task, 0);
    if (object != NULL)
        object->integer = value;
    return object;
}

/* The task is a string's or an array's, of length -1. */
static void *make_nil(const redisReadTask *task)
{
    redisReply *object = make(task, 0);
    if (object != NULL)
        object->type = REDIS_REPLY_NIL;
    return object;
}

#if HIREDIS_MAJOR >= 1
/* Redis says such things only to who has asked for version 3 of its protocol;
 * another server might say them all the same, and no element may be missing. */
static void *make_double(const redisReadTask *task, double value, char *text,
                         size_t length)
{
    (void)value;
    return make_string(task, text, length);
}

static void *make_bool(const redisReadTask *task, int value)
{
    return make_integer(task, value);
}
#endif

/* The next reply does it, or redis_reply_free(). */
static void do_not_free(void *object)
{
    (void)object;
}

void redis_reply_use(redisReader *reader, struct redis_reply_memory *memory)
{
    memory->functions = (redisReplyObjectFunctions){
        .createString = make_string,
        .createArray = make_array,
        .createInteger = make_integer,
        .createNil = make_nil,
#if HIREDIS_MAJOR >= 1
        .createDouble = make_double,
        .createBool = make_bool,
#endif
        .freeObject = do_not_free,
    };
    reader->fn = &memory->functions;
    reader->privdata = memory;
}

void redis_reply_free(struct redis_reply_memory *memory)
{
    free_pieces(memory);
    free(memory->block);
    memory->block = NULL;
    memory->used = 0;
}
