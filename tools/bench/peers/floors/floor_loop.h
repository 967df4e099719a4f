/* What the floors of the two event loops share: accepting until no client is
 * left, and serving a client that the kernel has reported. Each has its own
 * floor_watch() and floor_unwatch(). */
#pragma once

#include <fcntl.h>

#include "floor.h"

enum { ACCEPTS_PER_ITERATION = 64, IDLE_TIMEOUT_MS = 5000 };

static struct answer floor_answer;
static bool floor_keeps;
static int floor_listener;
static bool floor_accept_pending;
static int floor_watched; /* clients in the set */
static char floor_request[REQUEST_SIZE];

static void floor_watch(int fd);
static void floor_unwatch(int fd);

/* Serves a client that has sent something, or has left. Returns whether it is
 * still connected. Nothing but its descriptor is remembered of it. */
static bool floor_serve_ready(int fd)
{
    ssize_t n = recv(fd, floor_request, sizeof floor_request, 0);
    if (n < 0 && errno == EAGAIN)
        return true;
    if (n > 0 && !floor_is_request(floor_request, n))
        return true;
    if (n > 0 && send(fd, floor_answer.bytes, floor_answer.length,
                      floor_keeps ? 0 : MSG_MORE) > 0) {
        if (floor_keeps)
            return true;
        shutdown(fd, SHUT_WR);
    }
    return false;
}

static void floor_accept(void)
{
    for (int i = 0; i < ACCEPTS_PER_ITERATION && floor_accept_pending; i++) {
        int fd = accept4(floor_listener, NULL, NULL,
                         SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0)
            floor_accept_pending = false;
        else
            floor_watch(fd);
    }
}

static void floor_client_ready(int fd)
{
    if (floor_serve_ready(fd))
        return;
    floor_unwatch(fd);
    close(fd);
}

/* How long may the loop sleep? The server's idle clients have deadlines. */
static int floor_timeout_ms(void)
{
    if (floor_accept_pending)
        return 0;
    return FLOOR_POLICY && floor_watched > 0 ? IDLE_TIMEOUT_MS : -1;
}

static void floor_loop_init(int argc, char **argv, struct answer close,
                            struct answer keep)
{
    if (argc != 3 || (strcmp(argv[2], "close") != 0 &&
                      strcmp(argv[2], "keep") != 0))
        errx(2, "usage: %s PORT close|keep", argv[0]);
    floor_keeps = strcmp(argv[2], "keep") == 0;
    floor_answer = floor_keeps ? keep : close;
    floor_listener = floor_listen(argv[1], FLOOR_PLAIN);
    int flags = fcntl(floor_listener, F_GETFL);
    if (fcntl(floor_listener, F_SETFL, flags | O_NONBLOCK) < 0)
        err(1, "fcntl");
}
