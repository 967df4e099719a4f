/* Floor of 05: 100 threads that were made before the clients came, and accept
 * from one socket.
 *
 *     prethreaded PORT
 */
#include <pthread.h>

#include "floor.h"

enum { THREADS = 100, STACK_SIZE = 256 * 1024 };

static const char bytes[] = FLOOR_ANSWER("prethreaded", FLOOR_CLOSE);
static int listener;

static void *serve_clients(void *unused)
{
    (void)unused;
    floor_serve_clients(listener, (struct answer){bytes, sizeof bytes - 1});
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_attr_t attributes;
    pthread_t id;

    if (argc != 2 || pthread_attr_init(&attributes) != 0)
        errx(2, "usage: prethreaded PORT");
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    listener = floor_listen(argv[1], FLOOR_KEEPS_FILES);
    for (int i = 0; i < THREADS; i++)
        if ((errno = pthread_create(&id, &attributes, serve_clients,
                                    NULL)) != 0)
            err(1, "pthread_create");
    pause();
}
