/* worker - what one process, thread or loop owns; see worker.h. */
#include "worker.h"

#include <errno.h>
#include <sys/random.h>
#include <unistd.h>

#include "signals.h"

/* Early at boot there may be no entropy yet. The process id will do: the seed
 * only decides which picture a visitor sees. */
static unsigned make_seed(void)
{
    unsigned seed;
    if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) != (ssize_t)sizeof seed)
        seed = (unsigned)getpid();
    return seed;
}

void worker_init(struct worker *worker, const struct server *server,
                 int number)
{
    *worker = (struct worker){.server = server,
                              .stats = &server->shared->stats[number]};
    http_context_init(&worker->http, server, make_seed());
    worker_tick(worker);
}

void worker_free(struct worker *worker)
{
    http_context_free(&worker->http);
}

void worker_tick(struct worker *worker)
{
    const struct server *server = worker->server;
    int saved = errno; /* of the call that this tick follows */
    clock_update(&worker->http.clock);
    server_housekeeping(server);
    worker->draining = signals_stopping();
    worker->drain_expired = worker->draining &&
        signals_stopping_ms() > server->options.drain_timeout_ms;
    /* SIGHUP reaches the parent only, and a forked worker has a descriptor of
     * its own to replace. It tries once for each SIGHUP: when that fails, the
     * parent has already said so. */
    unsigned generation = atomic_load_explicit(&server->shared->log_generation,
                                               memory_order_relaxed);
    if (generation != worker->log_generation) {
        worker->log_generation = generation;
        access_log_reopen(&server->log);
    }
    errno = saved;
}

void worker_before_fork(struct worker *worker)
{
    worker_tick(worker);
    http_exchange_release(http_exchange_acquire(&worker->http));
}

void worker_after_fork(struct worker *worker)
{
    worker->http.seed = make_seed();
}

bool worker_may_keep(const struct worker *worker, const struct http_conn *conn)
{
    /* When the server stops, requests that it has already read are answered. */
    return worker->server->options.keep_alive_ms > 0 &&
           (!worker->draining || http_conn_has_pipelined(conn));
}

void worker_log_answer(struct worker *worker, const struct http_conn *conn,
                       const char *peer)
{
    stats_add(&worker->stats->requests, 1);
    if (peer != NULL)
        access_log_write(&worker->server->log, peer, &conn->x->logged,
                         worker->http.clock.seconds);
}
