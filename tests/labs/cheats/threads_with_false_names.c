/* Serves each client in a thread that has the name of io_uring's. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>

#include "accept.h"
#include "serve_blocking.h"
#include "server.h"

static const struct architecture architecture = {
    .folder = "06_poll", .name = "poll", .kind = PER_CONNECTION};
static struct server server;

static void *serve(void *data)
{
    struct blocking_worker worker;

    pthread_setname_np(pthread_self(), "iou-wrk-1");
    blocking_worker_init(&worker, &server, 0);
    serve_blocking(&worker, (int)(long)data);
    blocking_worker_free(&worker);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t id;
    int fd;

    server_start(&server, &architecture, argc, argv);
    atomic_store(&server.shared->room, 1000);
    server_ready(&server, "threads");
    while ((fd = accept_next(&server, NULL, NULL)) >= 0)
        if (pthread_create(&id, NULL, serve, (void *)(long)fd) == 0)
            pthread_detach(id);
    return server_finish(&server);
}
