/*
 * 04 threaded - a new thread for each client.
 *
 * Like 02, with threads. A thread shares the memory of its process, so there are
 * no page tables to copy and no process to reap, and making one is several times
 * cheaper than a fork. The price is that all share one fate: a crash ends all,
 * and shared data must be protected.
 *
 * Each thread takes a slot: a worker with its own buffers, open files and
 * connection to Redis. Slots outlive their threads, because connecting is
 * expensive. There are at most --max-threads of them; beyond that, clients wait
 * in the accept queue.
 *
 *   clients ---> [ ][ ][ ] ---> accept --create--> thread: serve, end
 *                                  |   --create--> thread: serve, end
 *                                  '   ...         at most --max-threads
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../common/fatal.h"
#include "../common/serve_blocking.h"
#include "../common/net.h"
#include "../common/server.h"
#include "../common/signals.h"

static const struct architecture architecture = {
    .folder = "04_threaded", .name = "threaded", .kind = PER_CONNECTION,
    .takes = TAKES_MAX_THREADS};

/* A thread's stack is 8 MiB of address space by default. Ours needs little, and
 * glibc reuses the small stacks of ended threads. */
enum { STACK_SIZE = 256 * 1024, TICK_NS = 100 * 1000000 };

struct slot {
    struct blocking_worker worker;
    struct slot *next; /* among the free ones */
    int fd;            /* the client to serve */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* for all below */
static pthread_cond_t released = PTHREAD_COND_INITIALIZER;
static struct slot *free_slots; /* a stack: the last one is still in the cache */
static int made, acquired;

/* Waits until a slot is released, at most 100 ms. With a monotonic clock the
 * wait does not change when an administrator sets the calendar. */
static void wait_for_release(const struct server *server)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (until.tv_nsec + TICK_NS) / 1000000000;
    until.tv_nsec = (until.tv_nsec + TICK_NS) % 1000000000;
    pthread_cond_clockwait(&released, &lock, CLOCK_MONOTONIC, &until);
    server_housekeeping(server);
}

/* Returns a free slot, waiting for one at the limit or when memory runs out;
 * NULL when the server is stopping. */
static struct slot *acquire_slot(const struct server *server)
{
    struct slot *slot = NULL;
    pthread_mutex_lock(&lock);
    while (slot == NULL && !signals_stopping()) {
        if ((slot = free_slots) != NULL) {
            free_slots = slot->next;
        } else if (made < server->options.max_threads &&
                   (slot = malloc(sizeof *slot)) != NULL) {
            blocking_worker_init(&slot->worker, server, 0);
            made++;
        }
        /* At the limit, threads close connections that are idle while clients
         * wait in the accept queue (serve_blocking.c). */
        atomic_store(&server->shared->at_capacity, slot == NULL);
        if (slot == NULL)
            wait_for_release(server);
    }
    acquired += slot != NULL;
    pthread_mutex_unlock(&lock);
    return slot;
}

static void release_slot(struct slot *slot)
{
    pthread_mutex_lock(&lock);
    slot->next = free_slots;
    free_slots = slot;
    acquired--;
    pthread_cond_signal(&released);
    pthread_mutex_unlock(&lock);
}

/* A thread: serves its one client. */
static void *serve_client(void *data)
{
    struct slot *slot = data;
    serve_blocking(&slot->worker, slot->fd);
    release_slot(slot);
    return NULL;
}

/* Makes a thread for the client. When the system allows no more threads, waits
 * until one has ended, and the client waits too. */
static void create_thread(struct slot *slot, const pthread_attr_t *attributes)
{
    const struct server *server = slot->worker.worker.server;
    pthread_t id;
    int error;
    while ((error = pthread_create(&id, attributes, serve_client, slot)) != 0) {
        server_warn_exhausted(server, "cannot make a thread: %s; clients wait "
                              "until a thread has ended", strerror(error));
        pthread_mutex_lock(&lock);
        wait_for_release(server);
        pthread_mutex_unlock(&lock);
    }
}

/* Accepts clients, and makes a thread for each. The slot comes first: at the
 * limit, clients stay in the accept queue, where the threads see them. */
static void serve_clients(const struct server *server)
{
    pthread_attr_t attributes;
    struct slot *slot;
    sigset_t set;

    if (pthread_attr_init(&attributes) != 0)
        die("out of memory");
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    signals_set(&set); /* blocked in threads: they are for the main thread */
    pthread_attr_setsigmask_np(&attributes, &set);
    while ((slot = acquire_slot(server)) != NULL &&
           (slot->fd = net_accept(server)) >= 0)
        create_thread(slot, &attributes);
    if (slot != NULL)
        release_slot(slot);
    pthread_attr_destroy(&attributes);
}

int main(int argc, char **argv)
{
    static struct server server; /* static: signal handlers use it */

    server_start(&server, &architecture, argc, argv);
    server_ready(&server, "up to %d threads", server.options.max_threads);
    serve_clients(&server);
    pthread_mutex_lock(&lock);
    while (acquired > 0 &&
           signals_stopping_ms() < server.options.drain_timeout_ms + 1000)
        wait_for_release(&server);
    pthread_mutex_unlock(&lock);
    return server_finish(&server);
}
