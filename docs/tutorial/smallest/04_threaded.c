/* Threaded: a new thread for each client, all in one process. */
#include <pthread.h>
#include <stdint.h>

#include "smallest.h"

static void *serve_client(void *argument)
{
    int fd = (int)(intptr_t)argument; /* a value: each thread has its own */
    serve(fd);
    close(fd);
    return NULL;
}

int main(int argc, char **argv)
{
    int listener = listen_on(argv);
    (void)argc;
    for (;;) {
        pthread_t thread;
        int fd = accept(listener, NULL, NULL);
        if (fd < 0)
            continue;
        if (pthread_create(&thread, NULL, serve_client, (void *)(intptr_t)fd))
            close(fd); /* no thread left: this client is lost */
        else
            pthread_detach(thread); /* its end needs no pthread_join() */
    }
}
