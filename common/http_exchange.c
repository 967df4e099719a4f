/* http_exchange - the pool of exchanges; see http_exchange.h. */
#include "http_exchange.h"

#include <stdlib.h>
#include <utlist.h>

#include "shortage.h"

enum { SPARE_EXCHANGES = 32 };    /* kept for reuse; more are freed */

void http_context_init(struct http_context *context, const struct site *site,
                       unsigned seed)
{
    *context = (struct http_context){
        .site = site, .seed = seed,
        .files = {.folder = site->public_folder,
                  .size = site->files_per_worker}};
}

static void exchange_free(struct http_exchange *x)
{
    buffer_free(&x->out);
    buffer_free(&x->commands);
    buffer_free(&x->memory);
    buffer_free(&x->kept);
    buffer_free(&x->scratch);
    buffer_free(&x->content);
    free(x);
}

void http_context_trim(struct http_context *context)
{
    struct http_exchange *x, *next;
    LL_FOREACH_SAFE (context->spare, x, next)
        exchange_free(x);
    context->spare = NULL;
    context->spares = 0;
    file_table_empty(&context->files);
}

bool http_context_relieve(struct http_context *context, int error)
{
    if (!is_shortage(error))
        return false;
    http_context_trim(context);
    return true;
}

void http_context_free(struct http_context *context)
{
    http_context_trim(context);
}

struct http_exchange *http_exchange_acquire(struct http_context *context)
{
    struct http_exchange *x = context->spare;
    if (x != NULL) {
        LL_DELETE(context->spare, x);
        context->spares--;
        return x;
    }
    /* Not calloc: clearing would touch every memory page of the input, of
     * which most requests need the first. A child of 02 copies each memory
     * page that it writes to. So the exchange starts at one, which its
     * members and the beginning of its input share, and the output gets its
     * memory here, before the fork. */
    x = aligned_alloc(_Alignof(struct http_exchange), sizeof *x);
    if (x == NULL)
        return NULL;
    memset(x, 0, offsetof(struct http_exchange, in));
    x->context = context;
    buffer_reserve(&x->out, 1);
    return x;
}

void http_exchange_shrink(struct http_exchange *x)
{
    buffer_reset(&x->memory, HTTP_KEEP_BUFFER);
    buffer_reset(&x->kept, HTTP_KEEP_BUFFER);
    buffer_reset(&x->scratch, HTTP_KEEP_BUFFER);
    buffer_reset(&x->content, HTTP_KEEP_BUFFER);
}

void http_exchange_release(struct http_exchange **released)
{
    struct http_exchange *x = *released;
    *released = NULL;
    if (x == NULL)
        return;
    struct http_context *context = x->context;
    file_release(x->file_part.file);
    x->file_part = (struct http_file_part){0};
    x->in_start = x->in_end = x->out_sent = 0;
    x->refused = 0;
    x->only_continue = false;
    buffer_reset(&x->out, HTTP_KEEP_BUFFER);
    http_exchange_shrink(x);
    if (context->spares == SPARE_EXCHANGES) {
        exchange_free(x);
    } else {
        LL_PREPEND(context->spare, x);
        context->spares++;
    }
}

void http_exchange_compact(struct http_exchange *x)
{
    memmove(x->in, x->in + x->in_start, x->in_end - x->in_start);
    x->in_end -= x->in_start;
    x->in_start = 0;
}

bool http_exchange_find_request(struct http_exchange *x)
{
    while (x->in_start < x->in_end) {
        const char *p = x->in + x->in_start;
        size_t n = x->in_end - x->in_start;
        if (p[0] == '\n')
            x->in_start++;
        else if (p[0] != '\r')
            return true;
        else if (n == 1)
            return false;
        else if (p[1] != '\n')
            return true; /* http_parse_head() will refuse it */
        else
            x->in_start += 2;
    }
    return false;
}
