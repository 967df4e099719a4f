/* Floor of 04: a thread for each client.
 *
 *     threaded PORT
 */
#include <pthread.h>

#include "floor.h"

enum { STACK_SIZE = 256 * 1024 };

static const char bytes[] = FLOOR_ANSWER("threaded", FLOOR_CLOSE);

/* Outlives its thread, as a slot of the server does. */
struct slot {
    struct slot *next; /* among the free ones */
    int fd;
    char request[REQUEST_SIZE];
};

static struct slot *free_slots;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct slot *acquire_slot(void)
{
    pthread_mutex_lock(&lock);
    struct slot *slot = free_slots;
    if (slot != NULL)
        free_slots = slot->next;
    else if ((slot = malloc(sizeof *slot)) == NULL)
        err(1, "malloc");
    pthread_mutex_unlock(&lock);
    return slot;
}

static void release_slot(struct slot *slot)
{
    pthread_mutex_lock(&lock);
    slot->next = free_slots;
    free_slots = slot;
    pthread_mutex_unlock(&lock);
}

static void *serve_client(void *data)
{
    struct slot *slot = data;
    floor_serve(slot->fd, (struct answer){bytes, sizeof bytes - 1},
                slot->request);
    release_slot(slot);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_attr_t attributes;
    sigset_t set;

    if (argc != 2 || pthread_attr_init(&attributes) != 0)
        errx(2, "usage: threaded PORT");
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    floor_signal_set(&set);
    pthread_attr_setsigmask_np(&attributes, &set);
    int listener = floor_listen(argv[1], FLOOR_KEEPS_FILES);
    for (;;) {
        struct slot *slot = acquire_slot();
        pthread_t id;
        slot->fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (slot->fd < 0)
            release_slot(slot);
        else if ((errno = pthread_create(&id, &attributes, serve_client,
                                         slot)) != 0)
            err(1, "pthread_create");
    }
}
