/* libmicrohttpd: a library with its own epoll thread, or a pool of them.
 *
 *     libmicrohttpd HOST PORT WORKERS
 */
#define _GNU_SOURCE
#include "peer.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>

enum {
    MAX_CONNECTIONS = 20000
};

/* Answers that never change are made once and counted by the library. */
static struct MHD_Response *answer, *hello, *not_found;
static struct MHD_Response *redirects[PEER_PICTURES];

static struct MHD_Response *make_constant(const char *type, const char *body)
{
    struct MHD_Response *response = MHD_create_response_from_buffer(
        strlen(body), (void *)(uintptr_t)body, MHD_RESPMEM_PERSISTENT);

    if (response == NULL ||
        MHD_add_response_header(response, "Content-Type", type) == MHD_NO)
        errx(1, "cannot make a response");
    return response;
}

static void make_responses(void)
{
    answer = make_constant("text/plain", "42");
    hello = make_constant("text/plain", "Hello, World!");
    not_found = make_constant("text/plain", "not found");
    for (int i = 0; i < PEER_PICTURES; i++) {
        redirects[i] = make_constant("text/plain", "");
        MHD_add_response_header(redirects[i], "Location", peer_pictures[i]);
    }
}

static enum MHD_Result echo(struct MHD_Connection *connection)
{
    char *body = peer_echo(MHD_lookup_connection_value(
        connection, MHD_GET_ARGUMENT_KIND, "value"));
    struct MHD_Response *response;
    enum MHD_Result queued;

    if (body == NULL)
        return MHD_NO;
    response = MHD_create_response_from_buffer(strlen(body), body,
                                               MHD_RESPMEM_MUST_FREE);
    if (response == NULL) {
        free(body);
        return MHD_NO;
    }
    MHD_add_response_header(response, "Content-Type", "text/xml");
    queued = MHD_queue_response(connection, MHD_HTTP_OK, response);
    MHD_destroy_response(response);
    return queued;
}

/* Is called when the head is in, and again when the whole request is: an answer
 * at the first call would be taken as one that refuses to read on, and the
 * connection would be closed. */
static enum MHD_Result handle(void *cls, struct MHD_Connection *connection,
                              const char *url, const char *method,
                              const char *version, const char *upload,
                              size_t *upload_size, void **state)
{
    static int called;

    (void)cls, (void)version, (void)upload, (void)upload_size;
    if (*state == NULL) {
        *state = &called;
        return MHD_YES;
    }
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0)
        return MHD_queue_response(connection, MHD_HTTP_NOT_FOUND, not_found);
    if (strcmp(url, "/answer") == 0)
        return MHD_queue_response(connection, MHD_HTTP_OK, answer);
    if (strcmp(url, "/hello") == 0)
        return MHD_queue_response(connection, MHD_HTTP_OK, hello);
    if (strcmp(url, "/redirect") == 0)
        return MHD_queue_response(connection, MHD_HTTP_FOUND,
                                  redirects[peer_random_picture()]);
    if (strcmp(url, "/echo") == 0)
        return echo(connection);
    return MHD_queue_response(connection, MHD_HTTP_NOT_FOUND, not_found);
}

/* SIGTERM is blocked before the library starts its threads, which inherit
 * that, so that only sigwait sees it. */
int main(int argc, char *argv[])
{
    struct sockaddr_in addr = {
        .sin_family = AF_INET,
    };
    unsigned int workers;
    struct MHD_Daemon *daemon;
    sigset_t set;
    int sig;

    if (argc != 4)
        errx(2, "usage: libmicrohttpd HOST PORT WORKERS");
    addr.sin_addr.s_addr = inet_addr(argv[1]);
    addr.sin_port = htons((uint16_t)strtoul(argv[2], NULL, 10));
    workers = (unsigned int)strtoul(argv[3], NULL, 10);
    make_responses();

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_TURBO, 0, NULL, NULL, handle,
        NULL, MHD_OPTION_SOCK_ADDR, &addr, MHD_OPTION_LISTEN_BACKLOG_SIZE,
        4096u, MHD_OPTION_CONNECTION_LIMIT, (unsigned int)MAX_CONNECTIONS,
        /* A pool of one is the thread that there is without a pool. */
        MHD_OPTION_THREAD_POOL_SIZE, workers > 1 ? workers : 0, MHD_OPTION_END);
    if (daemon == NULL)
        err(1, "cannot start on %s:%s", argv[1], argv[2]);
    sigwait(&set, &sig);
    MHD_stop_daemon(daemon);
}
