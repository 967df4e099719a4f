/* worker - what one loop, process or thread owns; see worker.h. */
#include "worker.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "guestbook.h"
#include "signals.h"

enum { KEEP_BUFFER = 64 * 1024 }; /* a pooled buffer may hold on to this */

static void seed(struct worker *worker)
{
    /* Early at boot there may be no entropy yet; then the process id will do,
     * as all that hangs on it is which picture somebody sees. */
    if (getrandom(&worker->random, sizeof worker->random, GRND_NONBLOCK) !=
        (ssize_t)sizeof worker->random)
        worker->random = (uint64_t)getpid() * 0x9e3779b97f4a7c15u;
    worker->random |= 1; /* xorshift never leaves zero */
}

void worker_init(struct worker *worker, const struct server *server,
                 struct stats_slot *stats)
{
    *worker = (struct worker){.server = server, .stats = stats};
    redis_init(&worker->store, &server->options.redis);
    file_cache_init(&worker->files, server->public_folder);
    file_cache_init(&worker->templates, server->template_folder);
    if (server->files_kept > 0)
        worker->files.open_max = server->files_kept;
    seed(worker);
    worker_tick(worker);
}

static void exchange_free(struct http_exchange *x)
{
    buffer_free(&x->out);
    buffer_free(&x->page);
    buffer_free(&x->scratch);
    buffer_free(&x->guestbook.remarks);
    free(x);
}

void worker_free(struct worker *worker)
{
    while (worker->spare != NULL) {
        struct http_exchange *x = worker->spare;
        worker->spare = x->next;
        exchange_free(x);
    }
    accept_filter_free(&worker->silent);
    redis_close(&worker->store);
    file_cache_free(&worker->files);
    file_cache_free(&worker->templates);
}

void worker_tick(struct worker *worker)
{
    struct server_shared *shared = worker->server->shared;
    clock_update(&worker->clock);
    worker->draining = signals_stopping();
    if (worker->draining)
        worker->overdue =
            signals_stopping_ms() > worker->server->options.drain_timeout_ms;
    int saved = errno; /* of the call that this tick comes after */
    server_housekeeping(worker->server);
    /* A forked worker has descriptors of its own, so it follows a SIGHUP that
     * its parent got by itself, before it writes the next line. */
    unsigned generation =
        atomic_load_explicit(&shared->log_generation, memory_order_relaxed);
    if (generation != worker->log_generation &&
        access_log_reopen(&worker->server->log) == 0)
        worker->log_generation = generation;
    errno = saved;
}

void worker_before_fork(struct worker *worker)
{
    struct cached_file *file;
    worker_tick(worker);
    if (file_cache_open(&worker->templates, GUESTBOOK_TEMPLATE,
                        worker->clock.now_ms, &file) == 0)
        file_release(file);
    worker_give_exchange(worker, worker_take_exchange(worker));
}

void worker_in_child(struct worker *worker)
{
    accept_filter_leave(&worker->silent);
    seed(worker);
}

uint32_t worker_random(struct worker *worker, uint32_t below)
{
    uint64_t r = worker->random; /* Marsaglia's xorshift64 */
    r ^= r << 13;
    r ^= r >> 7;
    r ^= r << 17;
    worker->random = r;
    return (uint32_t)((r >> 32) * below >> 32);
}

struct http_exchange *worker_take_exchange(struct worker *worker)
{
    struct http_exchange *x = worker->spare;
    if (x != NULL) {
        worker->spare = x->next;
        worker->spares--;
        return x;
    }
    /* Not calloc: that would touch every page of the input buffer, and most
     * requests fit into the first. */
    x = malloc(sizeof *x);
    if (x == NULL)
        goto no_memory;
    memset(x, 0, offsetof(struct http_exchange, in));
    x->worker = worker;
    /* One that has no room to answer with is of no use. */
    if (buffer_reserve(&x->out, 1) == NULL)
        goto no_memory;
    return x;
no_memory:
    free(x);
    server_say_shortage(worker->server, "out of memory; some clients are told "
                        "to come back later");
    return NULL;
}

void worker_give_exchange(struct worker *worker, struct http_exchange *x)
{
    if (x == NULL)
        return;
    file_release(x->rest.file);
    x->rest = (struct http_body){0};
    x->in_start = x->in_end = x->scanned = 0;
    x->out_sent = 0;
    x->status = 0;
    buffer_reset(&x->out, KEEP_BUFFER);
    buffer_reset(&x->page, KEEP_BUFFER);
    buffer_reset(&x->scratch, KEEP_BUFFER);
    buffer_reset(&x->guestbook.remarks, KEEP_BUFFER);
    if (worker->spares >= WORKER_SPARE_EXCHANGES) {
        exchange_free(x);
        return;
    }
    x->next = worker->spare;
    worker->spare = x;
    worker->spares++;
}
