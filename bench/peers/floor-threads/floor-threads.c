/* Floor of blocking threads with keep-alive: each thread accepts a connection
 * and does read, write, read, write ... until the client closes it.
 *
 * There must be as many threads as connections, for a thread leaves its
 * connection only at the end. Threads that wait in accept() cost nothing.
 *
 *     floor-threads PORT THREADS
 */
#define _GNU_SOURCE
#include "floor.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>

static int listener;

static void *serve(void *unused)
{
    char request[4096];

    (void)unused;
    for (;;) {
        int fd = accept(listener, NULL, NULL);

        if (fd < 0)
            continue;
        while (read(fd, request, sizeof request) > 0 &&
               write(fd, floor_answer, sizeof floor_answer - 1) > 0)
            ;
        close(fd);
    }
    return NULL;
}

int main(int argc, char *argv[])
{
    pthread_attr_t attr;
    pthread_t thread;

    if (argc != 3)
        errx(2, "usage: floor-threads PORT THREADS");
    signal(SIGPIPE, SIG_IGN);
    listener = floor_listen(argv[1]);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 65536);
    for (unsigned long i = strtoul(argv[2], NULL, 10); i > 0; i--) {
        errno = pthread_create(&thread, &attr, serve, NULL);
        if (errno != 0)
            err(1, "pthread_create");
    }
    pause();
}
