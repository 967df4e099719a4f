/* memory - allocations are counted, and fail; see sim.h. */
#include "sim.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <hiredis/async.h>

enum { SLOTS = 4096 }; /* a power of 2, many more than there are blocks */
enum { SPOILT = 1024 };        /* so much of a block, from its start */
enum { BLOCK_MAX = 16 << 20 }; /* nothing here needs one as large */

static struct block {
    void *p; /* NULL: free */
    size_t n;
    bool early; /* from the server's start */
    const void *caller; /* addr2line -e drivers says where that is */
} blocks[SLOTS];
static int count;
static size_t bytes;
static int until_failure; /* allocations; below 0: none fails */
static int failures;      /* that are still to come */
static int spared;        /* > 0: inside a function that could not go on */

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__real_aligned_alloc(size_t alignment, size_t n);
void __real_free(void *p);

static unsigned slot_of(const void *p)
{
    uintptr_t n = (uintptr_t)p >> 4;
    return (unsigned)(n ^ n >> 12) & (SLOTS - 1);
}

static void add(void *p, size_t n, const void *caller)
{
    unsigned i = slot_of(p);
    while (blocks[i].p != NULL)
        i = (i + 1) & (SLOTS - 1);
    blocks[i] = (struct block){p, n, !sim.started, caller};
    bytes += n;
    if (++count == SLOTS / 2)
        fail("the server holds %d blocks of memory", count);
}

/* Linear probing: what follows is moved into the gap. */
static bool take_out(const void *p)
{
    unsigned i = slot_of(p), j;
    while (blocks[i].p != p)
        if (blocks[i].p == NULL)
            return false;
        else
            i = (i + 1) & (SLOTS - 1);
    bytes -= blocks[i].n;
    count--;
    for (j = (i + 1) & (SLOTS - 1); blocks[j].p != NULL;
         j = (j + 1) & (SLOTS - 1)) {
        unsigned home = slot_of(blocks[j].p);
        if (((j - home) & (SLOTS - 1)) >= ((j - i) & (SLOTS - 1))) {
            blocks[i] = blocks[j];
            i = j;
        }
    }
    blocks[i].p = NULL;
    return true;
}

void memory_reset(void)
{
    for (int i = 0; count > 0 && i < SLOTS; i++)
        if (blocks[i].p != NULL)
            __real_free(blocks[i].p);
    if (count > 0)
        memset(blocks, 0, sizeof blocks);
    count = spared = 0;
    bytes = 0;
    until_failure = -1;
    if (plan_has(&sim.plan, NO_MEMORY)) {
        until_failure = chance_below(chance_percent(50) ? 30 : 300);
        failures = chance_percent(50) ? 1 : 1 + chance_below(40);
    }
}

/* What the server has not freed; 06 keeps its two arrays until it ends. */
int memory_blocks(void)
{
    int late = 0, early = 0;
    for (int i = 0; i < SLOTS; i++)
        if (blocks[i].p != NULL) {
            *(blocks[i].early ? &early : &late) += 1;
            trace("memory    %zu bytes from %p are left", blocks[i].n,
                  blocks[i].caller);
        }
    bool is_poll = sim.plan.server->event_loop && !sim.plan.server->epoll;
    return late + early - (is_poll && early >= 2 ? 2 : 0);
}

size_t memory_bytes(void)
{
    return bytes;
}

static bool fails(size_t n)
{
    if (sim.over)
        return false;
    if (n > BLOCK_MAX)
        fail("the server allocates %zu bytes", n);
    if (!sim.started || spared > 0 || until_failure < 0 ||
        until_failure-- > 0)
        return false;
    trace("memory    %zu bytes refused", n);
    until_failure = --failures > 0 ? 0 : -1;
    rules_fault("out of memory");
    for (int i = 0; i < sim.plan.clients; i++)
        sim.clients[i].unlogged |= sim.clients[i].excuse != NULL;
    sim.exhausted_us = sim.now_us;
    errno = ENOMEM;
    return true;
}

#define CALLER __builtin_return_address(0)

/* Fresh memory holds rubbish, and so does what has been freed: what reads it
 * behaves oddly, and a rule notices. */
static void spoil(void *p, size_t n, int byte)
{
    memset(p, byte, n < SPOILT ? n : SPOILT);
}

static void *counted(void *p, size_t n, const void *caller)
{
    if (p != NULL && !sim.over)
        add(p, n, caller);
    return p;
}

/* ----------------------------------------------------------- the real calls */

void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_aligned_alloc(size_t alignment, size_t n);
void __wrap_free(void *p);
char *__wrap_strdup(const char *s);
int __wrap_vasprintf(char **text, const char *format, va_list args);
int __wrap_asprintf(char **text, const char *format, ...);

void *__wrap_malloc(size_t n)
{
    if (fails(n))
        return NULL;
    void *p = counted(__real_malloc(n), n, CALLER);
    spoil(p, n, 0xa5);
    return p;
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails(n * size) ? NULL : counted(__real_calloc(n, size), n * size,
                                            CALLER);
}

void *__wrap_realloc(void *p, size_t n)
{
    if (fails(n))
        return NULL;
    if (p != NULL && !take_out(p) && !sim.over)
        fail("realloc() of what is not allocated");
    return counted(__real_realloc(p, n), n, CALLER);
}

void *__wrap_aligned_alloc(size_t alignment, size_t n)
{
    if (fails(n))
        return NULL;
    void *p = counted(__real_aligned_alloc(alignment, n), n, CALLER);
    spoil(p, n, 0xa5);
    return p;
}

void __wrap_free(void *p)
{
    if (p == NULL)
        return;
    size_t before = bytes;
    if (!take_out(p) && !sim.over)
        fail("free() of what is not allocated");
    spoil(p, before - bytes, 0xdd);
    __real_free(p);
}

char *__wrap_strdup(const char *s)
{
    size_t n = strlen(s) + 1;
    char *copy = __wrap_malloc(n);
    return copy != NULL ? memcpy(copy, s, n) : NULL;
}

int __wrap_vasprintf(char **text, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, again);
    va_end(again);
    *text = __wrap_malloc((size_t)n + 1);
    if (*text == NULL)
        return -1;
    return vsnprintf(*text, (size_t)n + 1, format, args);
}

int __wrap_asprintf(char **text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = __wrap_vasprintf(text, format, args);
    va_end(args);
    return n;
}

/* hiredis 0.14 ends the process when hi_malloc() finds no memory (alloc.c),
 * calls abort(3) on a reply whose callback it could not store, and relies on
 * sdsempty() where it has just freed a larger buffer. redis_may_connect() looks
 * for memory first; so in this world these are spared, and so are the functions
 * that queue a command, which leak 4 bytes when they fail half-way: these fail
 * as a whole. */
int __real_redisAppendCommandArgv(redisContext *context, int argc,
                                  const char **argv, const size_t *lengths);
int __wrap_redisAppendCommandArgv(redisContext *context, int argc,
                                  const char **argv, const size_t *lengths);
char *__real_sdsempty(void);
char *__wrap_sdsempty(void);
int __real_redisAsyncCommandArgv(redisAsyncContext *context,
                                 redisCallbackFn *replied, void *data, int argc,
                                 const char **argv, const size_t *lengths);
int __wrap_redisAsyncCommandArgv(redisAsyncContext *context,
                                 redisCallbackFn *replied, void *data, int argc,
                                 const char **argv, const size_t *lengths);

#if HIREDIS_MAJOR < 1 /* since then both are inline functions */
void *__real_hi_malloc(size_t n);
char *__real_hi_strdup(const char *s);
void *__wrap_hi_malloc(size_t n);
char *__wrap_hi_strdup(const char *s);

void *__wrap_hi_malloc(size_t n)
{
    spared++;
    void *p = __real_hi_malloc(n);
    spared--;
    return p;
}

char *__wrap_hi_strdup(const char *s)
{
    spared++;
    char *copy = __real_hi_strdup(s);
    spared--;
    return copy;
}
#endif

char *__wrap_sdsempty(void)
{
    spared++;
    char *empty = __real_sdsempty();
    spared--;
    return empty;
}

int __wrap_redisAppendCommandArgv(redisContext *context, int argc,
                                  const char **argv, const size_t *lengths)
{
    if (fails(0)) {
        context->err = REDIS_ERR_OOM;
        return REDIS_ERR;
    }
    spared++;
    int result = __real_redisAppendCommandArgv(context, argc, argv, lengths);
    spared--;
    return result;
}

int __wrap_redisAsyncCommandArgv(redisAsyncContext *context,
                                 redisCallbackFn *replied, void *data, int argc,
                                 const char **argv, const size_t *lengths)
{
    if (fails(0))
        return REDIS_ERR;
    spared++;
    int result = __real_redisAsyncCommandArgv(context, replied, data, argc,
                                              argv, lengths);
    spared--;
    return result;
}
