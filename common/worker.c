/* worker - what one process, thread or loop owns; see worker.h. */
#include "worker.h"

#include <stdlib.h>
#include <unistd.h>

#include "http_response.h"
#include "net.h"
#include "page.h"

void worker_init(struct worker *worker, const struct server *server,
                 int number)
{
    *worker = (struct worker){.server = server,
                              .slot = &server->shared->slots[number]};
    /* The seed picks /redirect's picture, and should differ in all processes
     * and threads. */
    http_context_init(&worker->http, &server->site, (unsigned)getpid() ^
                      (unsigned)((uintptr_t)worker >> 8));
    struct http_exchange *x = http_exchange_acquire(&worker->http);
    http_exchange_release(&x); /* the memory for a request is ready */
    worker_update(worker);
}

void worker_update(struct worker *worker)
{
    const struct server *server = worker->server;
    clock_update(&worker->http.clock);
    server_act_on_signals(server);
    worker->draining = signals_stopping();
    worker->drain_expired = worker->draining &&
        signals_stopping_ms() > server->options.drain_timeout_ms;
    /* SIGHUP reaches the parent only, and a forked worker has a descriptor
     * of its own to replace. (Threads share the parent's.) It tries once
     * for each SIGHUP: when that fails, the parent has already said so. */
    unsigned generation = atomic_load_explicit(&server->shared->log_generation,
                                               memory_order_relaxed);
    if (generation != worker->log_generation) {
        worker->log_generation = generation;
        if (getpid() != server->pid)
            access_log_reopen(&server->log);
    }
}

void worker_before_fork(struct worker *worker)
{
    worker_update(worker);
    response_update_fields(&worker->http);
    rand_r(&worker->http.seed); /* each child continues from another number */
}

bool worker_may_keep(const struct worker *worker, const struct http_conn *conn)
{
    /* When the server stops, requests that it has already read are
     * answered. */
    return worker->server->options.keep_alive_ms > 0 &&
           (!worker->draining || http_conn_has_pipelined(conn));
}

char *worker_peer_name(const struct worker *worker, int fd)
{
    if (worker->server->log.fd < 0 && !worker->server->site.names_clients)
        return NULL;
    return net_peer_name(fd);
}

void worker_log_answer(struct worker *worker, const struct http_conn *conn,
                       const char *peer)
{
    const struct http_exchange *x = conn->x;
    stats_add(&worker->slot->requests, 1);
    if (x->logged.fault != NULL)
        server_warn_rarely(worker->server, "the page %s %s: its client "
                           "gets a %d", x->page->path, x->logged.fault,
                           x->logged.status);
    if (peer != NULL && worker->server->log.fd >= 0)
        access_log_write(&worker->server->log, peer, &x->logged,
                         worker->http.clock.seconds);
}
