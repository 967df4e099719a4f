/*
 * wake_up - what waiting for an answer costs on a core that is otherwise idle.
 *
 *     wake_up serve PORT tcp|unix sleep|look
 *     wake_up ask PORT SECONDS
 *
 * A client sends a byte and waits until the server has sent it back, as the
 * iterative server does with Redis. Each has a core of its own:
 *
 *   sleep  both wait in recv(2); a core whose process waits has nothing to do
 *   look   both ask again and again without waiting, so no core ever sleeps
 *
 * What goes through the kernel is the same, so the difference is the price of
 * sleeping and of being woken. The client tries a Unix socket named after the
 * port, then TCP. The first byte that it receives says whether to look. After
 * SECONDS it prints JSON: round trips, and their times in milliseconds.
 * tools/bench/studies/wake-up.toml measures it.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { ROUND_TRIPS_MAX = 4 * 1000 * 1000 };

struct address {
    union {
        struct sockaddr any;
        struct sockaddr_in in;
        struct sockaddr_un un;
    };
    socklen_t length;
};

static struct address tcp_address(const char *port)
{
    struct address address = {.length = sizeof address.in};
    address.in.sin_family = AF_INET;
    address.in.sin_port = htons((unsigned short)strtoul(port, NULL, 10));
    address.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

/* An abstract name: its first byte is 0, and there is no file. */
static struct address unix_address(const char *port)
{
    struct address address = {.un.sun_family = AF_UNIX};
    int n = snprintf(address.un.sun_path + 1, sizeof address.un.sun_path - 1,
                     "wake_up-%s", port);
    address.length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
                                 (size_t)n);
    return address;
}

static int new_socket(const struct address *address)
{
    int fd = socket(address->any.sa_family, SOCK_STREAM, 0);
    if (fd < 0)
        err(1, "socket");
    return fd;
}

static int listen_at(struct address address)
{
    int fd = new_socket(&address);
    if (bind(fd, &address.any, address.length) < 0 || listen(fd, 8) < 0)
        err(1, "bind or listen");
    return fd;
}

/* Fails on a Unix socket, which has no such delay. */
static void send_immediately(int fd)
{
    int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

/* Returns whether a byte came: not when the other end has gone. */
static bool receive(int fd, char *byte, bool look)
{
    ssize_t n;
    do
        n = recv(fd, byte, 1, look ? MSG_DONTWAIT : 0);
    while (n < 0 && errno == EAGAIN);
    return n == 1;
}

static bool throw(int fd, char byte)
{
    return send(fd, &byte, 1, MSG_NOSIGNAL) == 1;
}

static void serve(const char *port, bool is_unix, bool look)
{
    int listener = -1;
    if (is_unix)
        listener = listen_at(unix_address(port));
    /* In any case: a port that accepts tells that the server is ready. */
    int tcp_listener = listen_at(tcp_address(port));
    if (listener < 0)
        listener = tcp_listener;
    for (;;) {
        char byte;
        int fd = accept(listener, NULL, NULL);
        if (fd < 0)
            err(1, "accept");
        send_immediately(fd);
        throw(fd, look ? 'l' : 's');
        while (receive(fd, &byte, look) && throw(fd, byte))
            continue;
        close(fd);
    }
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static void ask(const char *port, double seconds)
{
    static float ms[ROUND_TRIPS_MAX];
    struct address address = unix_address(port);
    int fd = new_socket(&address);
    if (connect(fd, &address.any, address.length) < 0) {
        close(fd);
        address = tcp_address(port);
        fd = new_socket(&address);
        if (connect(fd, &address.any, address.length) < 0)
            err(1, "connect");
    }
    send_immediately(fd);
    char byte;
    if (!receive(fd, &byte, false))
        errx(1, "the server closed");
    bool look = byte == 'l';
    double begun = now_ms(), sent = begun;
    size_t count = 0;
    while (count < ROUND_TRIPS_MAX && sent < begun + 1e3 * seconds) {
        if (!throw(fd, 'x') || !receive(fd, &byte, look))
            errx(1, "the server closed");
        double answered = now_ms();
        ms[count++] = (float)(answered - sent);
        sent = answered;
    }
    if (count == 0)
        errx(2, "SECONDS is above 0");
    qsort(ms, count, sizeof ms[0], compare);
    printf("{\"good\": %zu, \"seconds\": %.6f, \"mean\": %.6f, \"p50\": %.6f, "
           "\"p99\": %.6f, \"max\": %.6f}\n",
           count, (sent - begun) / 1e3, (sent - begun) / (double)count,
           (double)ms[count / 2], (double)ms[count * 99 / 100],
           (double)ms[count - 1]);
}

int main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "serve") == 0)
        serve(argv[2], strcmp(argv[3], "unix") == 0,
              strcmp(argv[4], "look") == 0);
    else if (argc == 4 && strcmp(argv[1], "ask") == 0)
        ask(argv[2], strtod(argv[3], NULL));
    else
        errx(2, "usage: wake_up serve PORT tcp|unix sleep|look, or "
                "wake_up ask PORT SECONDS");
    return 0;
}
