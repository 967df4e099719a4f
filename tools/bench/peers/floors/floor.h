/*
 * What the floors share. A floor is the least that a server of its design can
 * do: the same system calls with the same flags, and no work between them. It
 * looks for the end of the head and at nothing else, and answers with constant
 * bytes, as many as the server sends. So it is right only for clients that send
 * a small GET at a time. What the server costs above its floor is what HTTP
 * costs. tests/peers/test_floors.py compares the calls and the socket options
 * of both.
 */
#pragma once

#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

/* With -DFLOOR_LEAST they leave out what an answer does not need: limits of
 * time, and asking how long a client has waited. What a floor costs above that
 * is the servers' policy; what is left is their architecture. MSG_MORE and
 * shutdown(2) stay: without them the answer and its FIN are two packets, which
 * costs more than a call. */
#ifdef FLOOR_LEAST
enum { FLOOR_POLICY = 0 };
#else
enum { FLOOR_POLICY = 1 };
#endif

/* As many bytes as the server asks recv(2) for. */
enum { REQUEST_SIZE = 16384 };

/* The answer of the server NAME to /answer. */
#define FLOOR_CLOSE "Connection: close\r\n"
#define FLOOR_KEEP ""
#define FLOOR_ANSWER(name, connection)           \
    "HTTP/1.1 200 OK\r\n"                        \
    "Server: zerohttpd/2.0 (" name ")\r\n"       \
    "Date: Thu, 01 Jan 1970 00:00:00 GMT\r\n"    \
    connection                                   \
    "Content-Type: text/plain\r\n"               \
    "Content-Length: 2\r\n\r\n42"

struct answer {
    const char *bytes;
    size_t length;
};

/* What the listening socket has besides the options of all: a worker of 01, 03,
 * 04 and 05 looks up from accept(2) now and then, to close files. */
enum floor_kind { FLOOR_PLAIN, FLOOR_KEEPS_FILES };

/* Listens on 127.0.0.1, with the options of net_listen() in common/net.c. The
 * kernel shortens the accept queue to net.core.somaxconn, so that it holds as
 * many clients as the server's, and a floor never pays for a full queue. */
static inline int floor_listen(const char *port, enum floor_kind kind)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
        .sin_port = htons((unsigned short)strtoul(port, NULL, 10)),
    };
    struct timeval send_tick = {.tv_usec = 500 * 1000};
    struct timeval look_up = {.tv_sec = 5};
    int one = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) < 0 ||
        (FLOOR_POLICY &&
         (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) < 0 ||
          setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &send_tick,
                     sizeof send_tick) < 0)) ||
        (FLOOR_POLICY && kind == FLOOR_KEEPS_FILES &&
         setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &look_up,
                    sizeof look_up) < 0) ||
        bind(fd, (struct sockaddr *)&address, sizeof address) < 0 ||
        listen(fd, INT_MAX) < 0)
        err(1, "cannot listen on 127.0.0.1:%s", port);
    signal(SIGPIPE, SIG_IGN);
    return fd;
}

/* Does a small request end here? */
static inline bool floor_is_request(const char *bytes, ssize_t n)
{
    return n >= 4 && memcmp(bytes + n - 4, "\r\n\r\n", 4) == 0;
}

/* Like limit_reads() in common/serve_blocking.c. */
static inline void floor_begin_to_wait(int fd)
{
    const struct timeval tick = {.tv_usec = 50 * 1000};
    struct tcp_info info;
    socklen_t size = sizeof info;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tick, sizeof tick);
    getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size);
}

/* Serves one client of a blocking server, and closes the connection. `request`
 * is memory that exists already, as the server's does: a new page for each
 * client would cost a page fault. */
static inline void floor_serve(int fd, struct answer answer,
                               char request[REQUEST_SIZE])
{
    ssize_t n = recv(fd, request, REQUEST_SIZE, FLOOR_POLICY ? MSG_DONTWAIT : 0);
    if (FLOOR_POLICY && n < 0 && errno == EAGAIN) {
        floor_begin_to_wait(fd);
        n = recv(fd, request, REQUEST_SIZE, 0);
    }
    while ((n < 0 && errno == EAGAIN) ||
           (n > 0 && !floor_is_request(request, n)))
        n = recv(fd, request, REQUEST_SIZE, 0);
    if (n > 0 && send(fd, answer.bytes, answer.length, MSG_MORE) > 0)
        shutdown(fd, SHUT_WR);
    close(fd);
}

/* Serves clients for ever, as a process of 01 or 03 or a thread of 05. */
static inline void floor_serve_clients(int listener, struct answer answer)
{
    char *request = malloc(REQUEST_SIZE);
    if (request == NULL)
        err(1, "malloc");
    for (;;) {
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0)
            floor_serve(fd, answer, request);
    }
}

/* The signals that the servers handle. A child of 02 and a thread of 04 block
 * them. */
static inline void floor_signal_set(sigset_t *set)
{
    static const int handled[] = {SIGINT, SIGTERM, SIGUSR1,
                                  SIGHUP, SIGALRM, SIGCHLD};
    sigemptyset(set);
    for (size_t i = 0; i < sizeof handled / sizeof handled[0]; i++)
        sigaddset(set, handled[i]);
}
