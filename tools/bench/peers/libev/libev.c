/* libev: a server made by hand on an event loop, one loop a process.
 *
 *     libev HOST PORT WORKERS
 *
 * It knows only as much of HTTP as its answers need: a head that ends in an
 * empty line and no body. Its answers fit into an empty socket buffer; a
 * client that sends on and on without reading is closed.
 */
#define _GNU_SOURCE
#include "peer.h"

#include <arpa/inet.h>
#include <ev.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>

struct client {
    ev_io io;
    size_t used;
    char in[4096];
};

static void close_client(struct ev_loop *loop, struct client *client)
{
    ev_io_stop(loop, &client->io);
    close(client->io.fd);
    free(client);
}

/* Whether the connection stays open after the request with this head. */
static bool is_kept(const char *head)
{
    if (strstr(head, " HTTP/1.0\r\n") != NULL)
        return strcasestr(head, "\r\nConnection: keep-alive") != NULL;
    return strcasestr(head, "\r\nConnection: close") == NULL;
}

/* Answers one head, a string; returns whether the connection goes on. */
static bool answer(int fd, const char *head)
{
    const char *status = "200 OK";
    const char *location = "";
    const char *picture = "";
    const char *body = "";
    bool kept = is_kept(head);
    char out[512];
    int len;

    if (strncmp(head, "GET /answer ", strlen("GET /answer ")) == 0) {
        body = "42";
    } else if (strncmp(head, "GET /hello ", strlen("GET /hello ")) == 0) {
        body = "Hello, World!";
    } else if (strncmp(head, "GET /redirect ", strlen("GET /redirect ")) == 0) {
        status = "302 Found";
        location = "\r\nLocation: ";
        picture = peer_pictures[peer_random_picture()];
    } else {
        status = "404 Not Found";
    }
    len = snprintf(out, sizeof out,
                   "HTTP/1.1 %s\r\nContent-Type: text/plain\r\n"
                   "Content-Length: %zu\r\nConnection: %s%s%s\r\n\r\n%s",
                   status, strlen(body), kept ? "keep-alive" : "close",
                   location, picture, body);
    return write(fd, out, (size_t)len) == len && kept;
}

/* Answers every whole head among the bytes of a client. */
static bool answer_all(struct client *client)
{
    size_t done = 0;
    char *end;

    while ((end = memmem(client->in + done, client->used - done, "\r\n\r\n",
                         4)) != NULL) {
        char *head = client->in + done;

        end[2] = '\0'; /* the last line of the head keeps its \r\n */
        if (!answer(client->io.fd, head))
            return false;
        done = (size_t)(end + 4 - client->in);
    }
    client->used -= done;
    memmove(client->in, client->in + done, client->used);
    return client->used < sizeof client->in;
}

static void readable(struct ev_loop *loop, ev_io *io, int events)
{
    struct client *client = (struct client *)io;
    ssize_t n = read(io->fd, client->in + client->used,
                     sizeof client->in - client->used);

    (void)events;
    if (n > 0)
        client->used += (size_t)n;
    if (n <= 0 || !answer_all(client))
        close_client(loop, client);
}

static void acceptable(struct ev_loop *loop, ev_io *io, int events)
{
    int one = 1;
    struct client *client;
    int fd = accept4(io->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

    (void)events;
    if (fd < 0)
        return;
    client = malloc(sizeof *client);
    if (client == NULL) {
        close(fd);
        return;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    client->used = 0;
    ev_io_init(&client->io, readable, fd, EV_READ);
    ev_io_start(loop, &client->io);
}

static int listen_on(const char *host, const char *port)
{
    struct sockaddr_in addr = {
        .sin_family = AF_INET,
        .sin_addr.s_addr = inet_addr(host),
        .sin_port = htons((unsigned short)strtoul(port, NULL, 10)),
    };
    int one = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

    if (fd < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof one) < 0 ||
        bind(fd, (struct sockaddr *)&addr, sizeof addr) < 0 ||
        listen(fd, 4096) < 0)
        err(1, "cannot listen on %s:%s", host, port);
    return fd;
}

int main(int argc, char *argv[])
{
    struct ev_loop *loop;
    ev_io listener;

    if (argc != 4)
        errx(2, "usage: libev HOST PORT WORKERS");
    signal(SIGPIPE, SIG_IGN);
    peer_fork_workers(strtoul(argv[3], NULL, 10));
    loop = ev_default_loop(EVFLAG_AUTO);
    if (loop == NULL)
        errx(1, "cannot make an event loop");
    ev_io_init(&listener, acceptable, listen_on(argv[1], argv[2]), EV_READ);
    ev_io_start(loop, &listener);
    ev_run(loop, 0);
}
