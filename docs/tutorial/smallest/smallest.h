/* What the seven smallest servers share: a listening socket, and an answer.
 * They speak just enough HTTP for a browser, and check just enough to say what
 * went wrong at start. common/ shows what a real server adds. */
#pragma once

#include <err.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static const char answer[] =
    "HTTP/1.0 200 OK\r\nContent-Length: 6\r\n\r\nhello\n";

/* Returns a socket that listens on 127.0.0.1, port argv[1] or 8000. */
static inline int listen_on(char **argv)
{
    long port = argv[1] != NULL ? strtol(argv[1], NULL, 10) : 8000;
    struct sockaddr_in address = {.sin_family = AF_INET,
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
        .sin_port = htons((unsigned short)port)};
    int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) < 0 ||
        listen(listener, 128) < 0)
        err(1, "port %ld", port);
    return listener;
}

/* Reads what fd sends and answers. False: nothing came, or it is gone. */
static inline bool serve(int fd)
{
    char request[4096];
    return read(fd, request, sizeof request) > 0 &&
           write(fd, answer, sizeof answer - 1) > 0;
}
