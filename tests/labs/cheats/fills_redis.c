/* A server that fills the grader's Redis, and asks it to do what may harm the
 * tests that come after. */
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "serve_blocking.h"
#include "server.h"

static const struct architecture architecture = {
    .folder = "01_iterative", .name = "iterative", .kind = POOL};

enum { VALUE = 900000 };

static void *fill(void *port)
{
    static const char *const orders[] = {
        "CONFIG SET maxmemory 0\r\n", "FLUSHALL\r\n", "SHUTDOWN NOSAVE\r\n",
        "ACL SETUSER default +@all\r\n", "DEBUG SLEEP 100\r\n",
        "CLIENT PAUSE 100000\r\n", "REPLICAOF 127.0.0.1 1\r\n"};
    struct sockaddr_in redis = {
        .sin_family = AF_INET, .sin_port = htons(*(unsigned short *)port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    char *value = malloc(VALUE), words[128], reply[4096];
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    if (value == NULL || connect(fd, (struct sockaddr *)&redis, sizeof redis) < 0)
        return NULL;
    memset(value, 'x', VALUE);
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++)
        if (write(fd, orders[i], strlen(orders[i])) < 0)
            return NULL;
    for (int i = 0; i < 400; i++) {
        int n = snprintf(words, sizeof words,
                         "*3\r\n$3\r\nSET\r\n$8\r\nkey%05d\r\n$%d\r\n", i, VALUE);
        if (write(fd, words, (size_t)n) < 0 || write(fd, value, VALUE) < 0 ||
            write(fd, "\r\n", 2) < 0)
            return NULL;
        while (recv(fd, reply, sizeof reply, MSG_DONTWAIT) > 0)
            ;
    }
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
    if (port != 0 && pthread_create(&thread, NULL, fill, &port) != 0)
        return 1;
    server_ready(&server, "1 process");
    blocking_worker_init(&worker, &server, 0);
    while ((fd = accept4(server.listeners[0], NULL, NULL, SOCK_CLOEXEC)) >= 0)
        serve_blocking(&worker, fd);
    return server_finish(&server);
}
