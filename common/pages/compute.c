/*
 * compute - a page that uses the processor, for requests that do not wait.
 *
 * /compute?ms=20 is answered when its own thread has used 20 ms of CPU time.
 * Every other page of the collection waits: for a client, or for Redis. A
 * server that serves others during a wait cannot do so while a page
 * computes. Only with --compute: any client may ask for it.
 */
#include <time.h>

#include "http_response.h"
#include "page.h"

enum {
    COMPUTE_MS_MAX = 1000,  /* for one request */
    STEPS_PER_LOOK = 10000, /* tens of microseconds between two looks at the
                               clock, each of which costs a system call */
};

/* Returns the CPU time of this thread in nanoseconds: what other threads use
 * does not count, and neither does the time in which it had to wait for a
 * core. */
static int64_t cpu_time_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void use_cpu(void *memory)
{
    const int64_t *ms = memory;
    const int64_t end = cpu_time_ns() + *ms * 1000000;
    volatile unsigned result = 1; /* or the compiler drops the loop */
    while (cpu_time_ns() < end)
        for (int i = 0; i < STEPS_PER_LOOK; i++)
            result = result * 1664525 + 1013904223;
}

/* Reads the query's only field `ms` into *ms. Returns NULL, or a sentence that
 * says what is wrong. */
static const char *read_ms(struct http_exchange *x, int64_t *ms)
{
    struct slice query = x->request.query;
    struct buffer *value = &x->scratch;
    int fields = 0;
    while (query.n > 0) {
        int found = form_get(slice_next(&query, '&'), SLICE("ms"), value);
        if (found < 0)
            return "The value of ms has a % without two hexadecimal digits.";
        fields += found;
    }
    if (fields != 1)
        return "Say once how many milliseconds to compute: /compute?ms=20";
    struct slice digits = buffer_slice(value);
    *ms = slice_next_number(&digits);
    if (digits.n > 0 || *ms < 1 || *ms > COMPUTE_MS_MAX)
        return "ms must be a whole number from 1 to 1000.";
    return NULL;
}

static void answer(struct http_exchange *x)
{
    const int64_t *ms = page_memory(x);
    buffer_append_uint(&x->content, (uint64_t)*ms);
    buffer_append_literal(&x->content, " ms of CPU time");
    response_begin(x, 200);
    response_field(x, "Cache-Control", SLICE("no-store"));
    response_buffer(x, HTTP_TYPE_TEXT);
}

static void compute(struct http_exchange *x)
{
    if (!x->context->site->compute) {
        response_error(x, 404, NULL);
        return;
    }
    const char *wrong = read_ms(x, page_memory(x));
    if (wrong != NULL)
        response_error(x, 400, wrong);
    else if (x->request.method == HTTP_HEAD)
        answer(x); /* HEAD asks for the fields only */
}

const struct page page_compute = {
    .path = "/compute",
    .methods = HTTP_GET | HTTP_HEAD,
    .on_request = compute,
    .memory = sizeof(int64_t), /* the milliseconds */
    .work = use_cpu,
    .on_worked = answer,
};
