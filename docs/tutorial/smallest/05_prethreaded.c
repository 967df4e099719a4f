/* Prethreaded: a fixed number of threads, made before the clients come. */
#include <pthread.h>
#include <stdint.h>

#include "smallest.h"

enum { THREADS = 4 };

static void *accept_and_serve(void *argument)
{
    int listener = (int)(intptr_t)argument;
    for (;;) {
        int fd = accept(listener, NULL, NULL); /* the kernel wakes one thread */
        if (fd < 0)
            continue;
        serve(fd);
        close(fd);
    }
    return NULL; /* never */
}

int main(int argc, char **argv)
{
    void *listener = (void *)(intptr_t)listen_on(argv);
    (void)argc;
    for (int i = 1; i < THREADS; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, accept_and_serve, listener))
            errx(1, "cannot make thread %d", i);
    }
    accept_and_serve(listener); /* the main thread is one of them */
}
