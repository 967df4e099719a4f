/* Floor of 06: one loop around poll(2).
 *
 *     poll PORT close|keep
 */
#include <poll.h>

#include "floor_loop.h"

/* The server's place for Redis takes part in every poll(2), unused. */
enum { LISTENER, REDIS, FIRST_CLIENT, CLIENTS = 32768 };

static const char close_bytes[] = FLOOR_ANSWER("poll", FLOOR_CLOSE);
static const char keep_bytes[] = FLOOR_ANSWER("poll", FLOOR_KEEP);

static struct pollfd fds[FIRST_CLIENT + CLIENTS];
static nfds_t used = FIRST_CLIENT;
static nfds_t ready; /* the place that is being served */

static void floor_watch(int fd)
{
    if (floor_watched == CLIENTS)
        errx(1, "too many clients");
    fds[used++] = (struct pollfd){.fd = fd, .events = POLLIN};
    floor_watched++;
}

static void floor_unwatch(int fd)
{
    (void)fd;
    fds[ready] = fds[--used];
    floor_watched--;
}

int main(int argc, char **argv)
{
    floor_loop_init(argc, argv,
                    (struct answer){close_bytes, sizeof close_bytes - 1},
                    (struct answer){keep_bytes, sizeof keep_bytes - 1});
    fds[LISTENER] = (struct pollfd){.fd = floor_listener, .events = POLLIN};
    fds[REDIS].fd = -1;
    for (;;) {
        int n = poll(fds, used, floor_timeout_ms());
        /* From the end: the last one, which takes the place of one that ends,
         * has been served. */
        for (ready = used; n > 0 && ready-- > 0;) {
            if (fds[ready].revents == 0)
                continue;
            n--;
            if (ready == LISTENER)
                floor_accept_pending = true;
            else
                floor_client_ready(fds[ready].fd);
        }
        floor_accept();
    }
}
