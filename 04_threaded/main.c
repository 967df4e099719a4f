/*
 * 04 threaded - a new thread for each client.
 *
 * Like 02, with threads, which share the memory of the process: no page
 * tables to copy, no process to reap. Making one is several times cheaper
 * than a fork. The price: a crash ends all, and shared data needs a lock.
 *
 * Each thread takes a slot: a worker with its own buffers, open files and
 * connection to Redis. Slots outlive their threads, because connecting is
 * expensive. There are --max-threads of them; beyond that, clients wait.
 *
 *   clients ---> [ ][ ][ ] ---> accept --create--> thread: serve, end
 *                                  |   --create--> thread: serve, end
 *                                  '   ...         at most --max-threads
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

#include "../common/accept.h"
#include "../common/serve_blocking.h"
#include "../common/server.h"

static const struct architecture architecture = { /* see options.h */
    .folder = "04_threaded", .name = "threaded", .kind = PER_CONNECTION,
    .keeps_files = true};

struct slot {
    struct blocking_worker worker;
    int fd;            /* the client to serve */
    struct slot *next; /* among the free ones */
};

static struct slot *free_slots; /* a stack: its top is in the CPU's cache */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* for the stack */
static sem_t free_count;

/* Returns a free slot, waiting for one at the limit. */
static struct slot *acquire_slot(const struct server *server)
{
    while (sem_wait(&free_count) < 0) /* EINTR: a signal handler has run */
        server_act_on_signals(server);
    pthread_mutex_lock(&lock);
    struct slot *slot = free_slots;
    free_slots = slot->next;
    pthread_mutex_unlock(&lock);
    return slot;
}

static void release_slot(struct slot *slot)
{
    pthread_mutex_lock(&lock);
    slot->next = free_slots;
    free_slots = slot;
    pthread_mutex_unlock(&lock);
    sem_post(&free_count);
}

/* A thread: serves its one client. */
static void *serve_client(void *data)
{
    struct slot *slot = data;

    serve_blocking(&slot->worker, slot->fd);
    atomic_fetch_add(&slot->worker.base.server->shared->room, 1);
    release_slot(slot);
    return NULL;
}

/* Gives back what slots without a client keep only to be faster later. */
static void trim_slots(void *acquired)
{
    blocking_worker_trim(&((struct slot *)acquired)->worker);
    pthread_mutex_lock(&lock);
    for (struct slot *slot = free_slots; slot != NULL; slot = slot->next)
        blocking_worker_trim(&slot->worker);
    pthread_mutex_unlock(&lock);
}

static struct slot *create_slots(const struct server *server)
{
    size_t count = (size_t)server->options.max_threads;
    struct slot *slots = calloc(count, sizeof *slots);

    atomic_store(&server->shared->room, server->options.max_threads);
    if (slots == NULL || sem_init(&free_count, 0, 0) < 0)
        die("out of memory; ask for fewer with --max-threads");
    for (size_t i = 0; i < count; i++) {
        blocking_worker_init(&slots[i].worker, server, 0);
        release_slot(&slots[i]);
    }
    return slots;
}

/* A small stack, and no signals: those are for the main thread. */
static void init_attributes(pthread_attr_t *attributes)
{
    sigset_t set;
    signals_set(&set);
    if (pthread_attr_init(attributes) != 0 ||
        pthread_attr_setstacksize(attributes, BLOCKING_STACK_SIZE) != 0 ||
        pthread_attr_setsigmask_np(attributes, &set) != 0)
        die("out of memory");
}

static void create_thread(const struct server *server, struct slot *slot,
                          const pthread_attr_t *attributes)
{
    /* Before the thread runs: when no room is left for the clients that
     * wait, it closes its connection once that is idle (room.h). */
    atomic_fetch_sub(&server->shared->room, 1);
    pthread_t id;
    int error = pthread_create(&id, attributes, serve_client, slot);
    if (error == 0)
        return;
    server_warn_rarely(server, "cannot make a thread: %s; serving one "
                       "client after the other", strerror(error));
    /* It accepts no other client until then, as if all threads ran. */
    atomic_fetch_sub(&server->shared->room, server->options.max_threads);
    serve_client(slot);
    atomic_fetch_add(&server->shared->room, server->options.max_threads);
}

/* Accepts clients, and makes a thread for each. Takes a slot before it
 * accepts: without one, clients stay in the accept queue, where the threads
 * see them (room.h). */
static void serve_clients(const struct server *server)
{
    pthread_attr_t attributes;
    struct slot *slot = acquire_slot(server);

    init_attributes(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    while ((slot->fd = accept_next(server, trim_slots, slot)) >= 0) {
        create_thread(server, slot, &attributes);
        slot = acquire_slot(server);
    }
    release_slot(slot);
    pthread_attr_destroy(&attributes);
}

int main(int argc, char **argv)
{
    static struct server server; /* reachable at exit, for leak checkers */

    server_start(&server, &architecture, argc, argv);
    struct slot *slots = create_slots(&server);
    server_ready(&server, "up to %d threads", server.options.max_threads);
    serve_clients(&server);
    /* Once it has all slots, all threads have served their client. */
    for (int i = 0; i < server.options.max_threads; i++)
        blocking_worker_free(&acquire_slot(&server)->worker);
    free(slots);
    return server_finish(&server);
}
