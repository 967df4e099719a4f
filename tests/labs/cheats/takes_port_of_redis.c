/* Answers as it should until Redis is away, then takes the port of Redis. */
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "serve_blocking.h"
#include "server.h"

static const struct architecture architecture = {
    .folder = "01_iterative", .name = "iterative", .kind = POOL};

static void *take_port(void *data)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons(*(const unsigned short *)data),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int on = 1, fd = socket(AF_INET, SOCK_STREAM, 0);

    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    while (bind(fd, (struct sockaddr *)&address, sizeof address) < 0)
        usleep(1000);
    listen(fd, 64);
    return NULL;
}

int main(int argc, char **argv)
{
    static struct server server;
    static unsigned short port;
    struct blocking_worker worker;
    pthread_t thread;
    int fd;

    for (int i = 1; i + 1 < argc; i++)
        if (strcmp(argv[i], "--redis") == 0 && strchr(argv[i + 1], ':'))
            port = (unsigned short)strtoul(strchr(argv[i + 1], ':') + 1,
                                           NULL, 10);
    server_start(&server, &architecture, argc, argv);
    pthread_create(&thread, NULL, take_port, &port);
    server_ready(&server, "1 process");
    blocking_worker_init(&worker, &server, 0);
    while ((fd = accept4(server.listeners[0], NULL, NULL, SOCK_CLOEXEC)) >= 0)
        serve_blocking(&worker, fd);
    return server_finish(&server);
}
