/*
 * 04 threaded - a new thread for each client.
 *
 * As 02, with threads: a thread shares its process' memory, so there are no
 * page tables to copy and no process to bury, and making one is several times
 * cheaper than a fork. The price is that all share one fate: a crash is
 * everybody's, and what is shared must be guarded.
 *
 * Here almost nothing is shared. Each thread takes a seat: a worker with its
 * own buffers, file cache and Redis connection. Seats outlive their threads: a
 * new thread takes the seat that was left last, which is still warm, and finds
 * Redis connected. There are --max-threads seats; at the bound, clients wait in
 * the accept queue.
 *
 *   clients ---> [ ][ ][ ] ---> accept --create--> thread: serve, end
 *                                  |   --create--> thread: serve, end
 *                                  '   ...         at most --max-threads
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../common/accept_filter.h"
#include "../common/serve_blocking.h"
#include "../common/server.h"
#include "../common/signals.h"
#include "../common/worker.h"

static const struct architecture architecture = {
    .folder = "04_threaded", .name = "threaded", .takes = TAKES_MAX_THREADS};

/* The default stack of a thread is 8 MiB of address space. Ours needs little,
 * and glibc keeps small stacks of ended threads for new ones. */
enum { STACK_SIZE = 256 * 1024 };

struct seat {
    struct worker worker;
    struct seats *seats; /* that it belongs to */
    struct seat *next;   /* among the free ones */
    int fd;              /* the client on it */
};

struct seats {
    pthread_mutex_t lock;
    pthread_cond_t freed;
    struct seat *free; /* a stack */
    int made;          /* seats that exist */
    int taken;
    struct accept_filter silent; /* the main thread's own */
};

static struct seat *make_seat(struct seats *seats, const struct server *server)
{
    struct seat *seat = malloc(sizeof *seat);
    if (seat != NULL) {
        serve_blocking_init(&seat->worker, server, &server->shared->stats[0]);
        seat->seats = seats;
        seats->made++;
    }
    return seat;
}

/* Waits until a seat has been freed, or a tenth of a second. */
static void wait_for_seat(struct seats *seats)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 100 * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    pthread_cond_timedwait(&seats->freed, &seats->lock, &until);
}

/* Silent clients may have spoken meanwhile: they are served before the end. */
static bool is_over(const struct seats *seats, const struct server *server)
{
    return signals_stopping() &&
           (seats->silent.silent == NULL ||
            signals_stopping_ms() > server->options.drain_timeout_ms);
}

/* Returns a free seat; waits for one at the bound, or without memory. NULL: the
 * server is stopping. */
static struct seat *take_seat(struct seats *seats, const struct server *server)
{
    struct seat *seat = NULL;
    pthread_mutex_lock(&seats->lock);
    while (!is_over(seats, server)) {
        seat = seats->free;
        if (seat != NULL)
            seats->free = seat->next;
        else if (seats->made < server->options.max_threads)
            seat = make_seat(seats, server);
        if (seat != NULL)
            break;
        /* A thread whose client is idle between two requests gives it up
         * now (blocking.c). */
        server->shared->held = seats->silent.silent != NULL;
        server->shared->full = true;
        wait_for_seat(seats);
        server_housekeeping(server);
    }
    seats->taken += seat != NULL;
    server->shared->full = false;
    pthread_mutex_unlock(&seats->lock);
    return seat;
}

static void leave_seat(struct seat *seat)
{
    struct seats *seats = seat->seats;
    pthread_mutex_lock(&seats->lock);
    seat->next = seats->free;
    seats->free = seat;
    seats->taken--;
    pthread_cond_signal(&seats->freed);
    pthread_mutex_unlock(&seats->lock);
}

/* The thread: serves its one client. */
static void *serve_client(void *data)
{
    struct seat *seat = data;
    serve_blocking(&seat->worker, seat->fd);
    leave_seat(seat);
    return NULL;
}

/* Makes a detached thread (nobody waits for its end; its memory is freed by
 * itself) in which all signals are blocked: they are for the main thread. */
static int create_thread(struct seat *seat)
{
    static pthread_attr_t *attributes, storage;
    pthread_t thread;
    sigset_t set, before;
    if (attributes == NULL) {
        attributes = &storage;
        pthread_attr_init(attributes);
        pthread_attr_setdetachstate(attributes, PTHREAD_CREATE_DETACHED);
        pthread_attr_setstacksize(attributes, STACK_SIZE);
    }
    signals_set(&set);
    pthread_sigmask(SIG_BLOCK, &set, &before);
    int error = pthread_create(&thread, attributes, serve_client, seat);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

/* The same, but where the system allows no more threads it waits until it does,
 * and the client with it. Returns false when that is not before --drain-timeout. */
static bool make_thread(struct seat *seat, const struct server *server)
{
    while (signals_stopping_ms() <= server->options.drain_timeout_ms) {
        int error = create_thread(seat);
        if (error == 0)
            return true;
        server_say_shortage(server, "cannot make a thread: %s; clients wait "
                            "until some thread has ended", strerror(error));
        server->shared->full = true;
        poll(NULL, 0, 50);
        server_housekeeping(server);
    }
    return false;
}

/* Waits for a client. When its seat is one of the second half of those that may
 * be, only for one that has sent something: or a crowd that connects and is
 * silent would take all of them. */
static int next_client(struct seats *seats, const struct server *server)
{
    pthread_mutex_lock(&seats->lock);
    bool scarce = 2 * seats->taken > server->options.max_threads;
    pthread_mutex_unlock(&seats->lock);
    return accept_filter_next(&seats->silent, server, scarce);
}

/* Accepts clients, and makes a thread for each of them. */
static void serve_clients(const struct server *server, struct seats *seats)
{
    struct seat *seat;

    /* The seat first: at the bound, clients wait in the accept queue, where a
     * thread that holds a silent client sees them. */
    while ((seat = take_seat(seats, server)) != NULL) {
        seat->fd = next_client(seats, server);
        if (seat->fd < 0) {
            leave_seat(seat);
            return;
        }
        if (!make_thread(seat, server)) {
            close(seat->fd);
            leave_seat(seat);
        }
    }
}

/* Waits until every thread is done, and frees the seats. */
static void finish_threads(const struct server *server, struct seats *seats)
{
    accept_filter_free(&seats->silent);
    pthread_mutex_lock(&seats->lock);
    while (seats->taken > 0 &&
           signals_stopping_ms() < server->options.drain_timeout_ms + 1000)
        wait_for_seat(seats);
    while (seats->free != NULL) {
        struct seat *seat = seats->free;
        seats->free = seat->next;
        worker_free(&seat->worker);
        free(seat);
    }
    pthread_mutex_unlock(&seats->lock);
}

int main(int argc, char **argv)
{
    static struct server server; /* static: signal handlers look at it */
    static struct seats seats = {.lock = PTHREAD_MUTEX_INITIALIZER,
                                 .freed = PTHREAD_COND_INITIALIZER};

    server_start(&server, &architecture, argc, argv, 1, 1);
    server_ready(&server, "up to %d threads", server.options.max_threads);
    serve_clients(&server, &seats);
    finish_threads(&server, &seats);
    return server_finish(&server);
}
