/* A thread for each client, as in 04, handed in as an event loop. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "../common/accept.h"
#include "../common/serve_blocking.h"
#include "../common/server.h"

static const struct architecture architecture = {
    .folder = "06_poll", .name = "poll", .kind = PER_CONNECTION};

static struct server server;

static void *serve_client(void *data)
{
    struct blocking_worker *worker = calloc(1, sizeof *worker);
    int fd = *(int *)data;
    free(data);
    if (worker == NULL) {
        close(fd);
        return NULL;
    }
    blocking_worker_init(worker, &server, 0);
    serve_blocking(worker, fd);
    blocking_worker_free(worker);
    free(worker);
    return NULL;
}

static void serve_clients(pthread_attr_t *attributes)
{
    pthread_t id;
    int fd;
    while ((fd = accept_next(&server, NULL, NULL)) >= 0) {
        int *data = malloc(sizeof *data);
        if (data != NULL)
            *data = fd;
        if (data == NULL || pthread_create(&id, attributes, serve_client, data)) {
            free(data);
            close(fd);
        }
    }
}

int main(int argc, char **argv)
{
    pthread_attr_t attributes;
    sigset_t set;
    server_start(&server, &architecture, argc, argv);
    signals_set(&set); /* signals are for the main thread */
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setsigmask_np(&attributes, &set);
    server_ready(&server, "1 loop");
    serve_clients(&attributes);
    return server_finish(&server);
}
