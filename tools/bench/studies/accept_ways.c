/*
 * accept_ways - how many threads share one listening socket.
 *
 *     accept_ways PORT THREADS direct|mutex|turn|queue
 *
 * THREADS threads answer each client with constant bytes and close; nothing is
 * parsed, so what differs is only how a client gets to a thread:
 *
 *   direct  all threads sleep in accept(2); the kernel wakes one for a client
 *   mutex   only the thread that holds a mutex is in accept
 *   turn    the same, and it keeps the mutex until it has to wait for a client
 *           for longer than 1 ms; one mutex for each core
 *   queue   one more thread accepts, and hands descriptors to the others
 *           through a queue with a mutex and condition variables
 *
 * tools/bench/studies/accept-ways.toml measures it.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "floor.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

enum { QUEUE_SIZE = 1024, STACK_SIZE = 64 * 1024, CORES_MAX = 64 };

static const char bytes[] = FLOOR_ANSWER("floor", FLOOR_CLOSE);
static int listener;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void answer(int fd)
{
    char request[4096];
    if (fd < 0)
        return;
    if (recv(fd, request, sizeof request, 0) > 0)
        send(fd, bytes, sizeof bytes - 1, MSG_NOSIGNAL);
    close(fd);
}

/* ------------------------------------------------------------------- direct */

static void *serve_direct(void *unused)
{
    (void)unused;
    for (;;)
        answer(accept(listener, NULL, NULL));
    return NULL;
}

/* -------------------------------------------------------------------- mutex */

static void *serve_mutex(void *unused)
{
    (void)unused;
    for (;;) {
        pthread_mutex_lock(&lock);
        int fd = accept(listener, NULL, NULL);
        pthread_mutex_unlock(&lock);
        answer(fd);
    }
    return NULL;
}

/* --------------------------------------------------------------------- turn */

static struct {
    _Alignas(64) pthread_mutex_t lock;
} turns[CORES_MAX];
static atomic_uint threads_with_turns;

static unsigned cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) < 0)
        err(1, "sched_getaffinity");
    return (unsigned)CPU_COUNT(&set) < CORES_MAX ? (unsigned)CPU_COUNT(&set)
                                                 : CORES_MAX;
}

/* Has the client sent a byte, now or within 1 ms? MSG_PEEK leaves it there. */
static bool speaks(int fd)
{
    char byte;
    return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 ||
           poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 1) > 0;
}

static void *serve_turn(void *unused)
{
    (void)unused;
    unsigned number = atomic_fetch_add(&threads_with_turns, 1) % cores();
    pthread_mutex_t *turn = &turns[number].lock;
    bool mine = false;
    for (;;) {
        if (!mine)
            pthread_mutex_lock(turn);
        int fd = accept(listener, NULL, NULL);
        mine = fd < 0 || speaks(fd);
        if (!mine)
            pthread_mutex_unlock(turn);
        answer(fd);
    }
    return NULL;
}

/* -------------------------------------------------------------------- queue */

static struct {
    int clients[QUEUE_SIZE];
    unsigned first, count;
    pthread_cond_t has_client, has_room;
} queue = {.has_client = PTHREAD_COND_INITIALIZER,
           .has_room = PTHREAD_COND_INITIALIZER};

static void put(int fd)
{
    pthread_mutex_lock(&lock);
    while (queue.count == QUEUE_SIZE)
        pthread_cond_wait(&queue.has_room, &lock);
    queue.clients[(queue.first + queue.count++) % QUEUE_SIZE] = fd;
    pthread_mutex_unlock(&lock);
    pthread_cond_signal(&queue.has_client);
}

static int take(void)
{
    pthread_mutex_lock(&lock);
    while (queue.count == 0)
        pthread_cond_wait(&queue.has_client, &lock);
    int fd = queue.clients[queue.first];
    queue.first = (queue.first + 1) % QUEUE_SIZE;
    bool was_full = queue.count-- == QUEUE_SIZE;
    pthread_mutex_unlock(&lock);
    if (was_full)
        pthread_cond_signal(&queue.has_room);
    return fd;
}

static void *accept_for_queue(void *unused)
{
    (void)unused;
    for (;;) {
        int fd = accept(listener, NULL, NULL);
        if (fd >= 0)
            put(fd);
    }
    return NULL;
}

static void *serve_queue(void *unused)
{
    (void)unused;
    for (;;)
        answer(take());
    return NULL;
}

/* --------------------------------------------------------------------- main */

static void start(void *(*serve)(void *))
{
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    errno = pthread_create(&thread, &attributes, serve, NULL);
    if (errno != 0)
        err(1, "pthread_create");
    pthread_attr_destroy(&attributes);
}

int main(int argc, char *argv[])
{
    static const struct {
        const char *name;
        void *(*serve)(void *);
    } ways[] = {{"direct", serve_direct},
                {"mutex", serve_mutex},
                {"turn", serve_turn},
                {"queue", serve_queue}};
    void *(*serve)(void *) = NULL;

    for (int i = 0; argc == 4 && i < 4; i++)
        if (strcmp(argv[3], ways[i].name) == 0)
            serve = ways[i].serve;
    if (serve == NULL)
        errx(2, "usage: accept_ways PORT THREADS direct|mutex|turn|queue");

    listener = floor_listen(argv[1], FLOOR_PLAIN);
    for (int i = 0; i < CORES_MAX; i++)
        pthread_mutex_init(&turns[i].lock, NULL);
    for (long i = strtol(argv[2], NULL, 10); i > 0; i--)
        start(serve);
    if (serve == serve_queue)
        start(accept_for_queue);
    pause();
    return 0;
}
