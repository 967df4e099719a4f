/* What the floors share: a listener and one constant answer.
 *
 * A floor is the least a server of its kind can do: the same system calls, and
 * nothing between them. It looks at no byte of what it reads, so it is right
 * only for a client that sends one small request at a time. What a real server
 * costs above its floor is what HTTP costs.
 */
#ifndef FLOOR_H
#define FLOOR_H

#include <arpa/inet.h>
#include <err.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define FLOOR_BODY                 \
    "Content-Type: text/plain\r\n" \
    "Content-Length: 2\r\n"

static const char floor_answer[] = "HTTP/1.1 200 OK\r\n" FLOOR_BODY "\r\n42";

static const char floor_last_answer[] =
    "HTTP/1.1 200 OK\r\n" FLOOR_BODY "Connection: close\r\n\r\n42";

/* Listens on 127.0.0.1, port as given on the command line; ends the program
 * where that cannot be. SO_REUSEPORT lets several workers have a queue each. */
static inline int floor_listen(const char *port)
{
    struct sockaddr_in addr = {
        .sin_family = AF_INET,
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
        .sin_port = htons((unsigned short)strtoul(port, NULL, 10)),
    };
    int one = 1;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    if (fd < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof one) < 0 ||
        bind(fd, (struct sockaddr *)&addr, sizeof addr) < 0 ||
        listen(fd, 4096) < 0)
        err(1, "cannot listen on 127.0.0.1:%s", port);
    return fd;
}

/* Level-triggered: a descriptor is told again until it has been read. */
static inline void floor_watch(int ep, int fd)
{
    struct epoll_event ev = {.events = EPOLLIN, .data.fd = fd};

    if (epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev) < 0)
        err(1, "epoll_ctl");
}

#endif
