/*
 * Lab 04: threaded - a new thread for each client.
 *
 * You begin with the loop of 01: the main thread serves one client after the
 * other. At the end of the lab the main thread only accepts, and makes a thread
 * for each client. What a thread needs to serve (buffers, open files, a
 * connection to Redis) is expensive to make: it is kept in a slot, which the
 * thread takes over at its start and gives back at its end. A slot outlives its
 * threads. There are --max-threads slots; beyond that, clients wait.
 *
 *   clients ---> [ ][ ][ ] ---> accept --create--> thread: serve, end
 *                                  |   --create--> thread: serve, end
 *                                  '   ...         at most --max-threads
 *
 * Write what is marked TODO, in the order of the numbers. Each comment is a
 * contract: it says what the function does, not how.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

#include "../common/serve_blocking.h"
#include "../common/accept.h"
#include "../common/server.h"

static const struct architecture architecture = { /* see options.h */
    .folder = "04_threaded", .name = "threaded", .kind = PER_CONNECTION,
    .keeps_files = true};

struct slot {
    struct blocking_worker worker;
    int fd;            /* the client to serve */
    struct slot *next; /* among the free ones */
};

/* The free slots, as a stack.
 *
 * TODO 1: the main thread takes slots while other threads give theirs back.
 * Protect the stack with a mutex (pthread_mutex_lock(3)), and count the free
 * slots with a semaphore (sem_init(3)), for which a thread can wait. Both must
 * be ready before make_slots() gives the first slot back. */
static struct slot *first_free;

/* Gives a slot back. Any thread may call it. */
static void give_back_slot(struct slot *slot)
{
    /* TODO 1: lock, and count it with sem_post(3). */
    slot->next = first_free;
    first_free = slot;
}

/* Takes a free slot. When none is free, waits until a thread gives one back.
 * Never returns NULL.
 *
 * TODO 1: wait with sem_wait(3). A signal handler that runs in this time ends
 * the wait with EINTR, and then no slot is free: act on the signal with
 * server_act_on_signals(), and wait again. */
static struct slot *take_slot(const struct server *server)
{
    struct slot *slot = first_free;

    server_act_on_signals(server);
    first_free = slot->next;
    return slot;
}

/* Gives back what slots without a client keep only to be faster later: their
 * open files. accept_next() calls it with the slot that the main thread has
 * taken.
 *
 * TODO 1: lock. */
static void trim_slots(void *taken)
{
    blocking_worker_trim(&((struct slot *)taken)->worker);
    for (struct slot *slot = first_free; slot != NULL; slot = slot->next)
        blocking_worker_trim(&slot->worker);
}

/* Makes one slot for each thread that may run. Failure ends the program. */
static struct slot *make_slots(const struct server *server)
{
    size_t count = (size_t)server->options.max_threads;
    struct slot *slots = calloc(count, sizeof *slots);

    if (slots == NULL)
        die("out of memory; ask for fewer with --max-threads");
    for (size_t i = 0; i < count; i++) {
        blocking_worker_init(&slots[i].worker, server, 0);
        give_back_slot(&slots[i]);
    }
    return slots;
}

/* What a thread runs: serves the one client of its slot, then gives the slot
 * back. pthread_create(3) passes the slot. */
static void *run_thread(void *data)
{
    struct slot *slot = data;

    serve_blocking(&slot->worker, slot->fd);
    give_back_slot(slot);
    return NULL;
}

/* Prepares the attributes of all threads (pthread_attr_init(3)). Failure ends
 * the program.
 *
 * TODO 2: threads that are never joined have to be detached, or their stacks
 * stay in memory. The default stack is 8 MiB of address space; 256 KiB are
 * enough here. Signals are for the main thread: block those that signals_set()
 * names (pthread_attr_setsigmask_np(3)). */
static void init_attributes(pthread_attr_t *attributes)
{
    if (pthread_attr_init(attributes) != 0)
        die("out of memory");
}

/* Serves the client slot->fd in a thread of its own, and returns without
 * waiting for it.
 *
 * TODO 3: pthread_create(3). It returns the error instead of setting errno:
 * EAGAIN when there are too many threads or too little memory. Then say so with
 * server_warn_rarely(), and serve the client in this thread, as now.
 *
 * TODO 4: keep in server->shared->room (server.h, an atomic_int) how many more
 * threads may run: --max-threads at first, one less before each thread is made,
 * because it may look immediately, one more when it has served its client.
 * Without room for the clients that wait, threads close idle connections. */
static void start_thread(struct slot *slot, const pthread_attr_t *attributes)
{
    (void)attributes;
    run_thread(slot);
}

/* Accepts clients until the server is to stop, and has each served by a thread.
 * The slot comes before the client: at the limit, clients wait in the accept
 * queue. Nothing is to be changed here. */
static void serve_clients(const struct server *server)
{
    pthread_attr_t attributes;
    struct slot *slot = take_slot(server);

    init_attributes(&attributes);
    while ((slot->fd = accept_next(server, trim_slots, slot)) >= 0) {
        start_thread(slot, &attributes);
        slot = take_slot(server);
    }
    give_back_slot(slot);
    pthread_attr_destroy(&attributes);
}

int main(int argc, char **argv)
{
    static struct server server; /* reachable at exit, for leak checkers */

    server_start(&server, &architecture, argc, argv);
    struct slot *slots = make_slots(&server);
    server_ready(&server, "up to %d threads", server.options.max_threads);
    serve_clients(&server);
    /* TODO 5: detached threads cannot be joined. How do you know that all have
     * served their client? Free a slot's worker only after that, with
     * blocking_worker_free(). */
    for (int i = 0; i < server.options.max_threads; i++)
        blocking_worker_free(&slots[i].worker);
    free(slots);
    return server_finish(&server);
}
