/* civetweb, the free descendant of the published mongoose: a pool of threads,
 * each of which keeps a connection until its end.
 *
 *     civetweb PORT THREADS
 */
#define _GNU_SOURCE
#include "peer.h"

#include <civetweb.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <strings.h>

/* Sends an answer by one write; mg_send_http_ok would make one a piece. */
static int reply(struct mg_connection *conn, const char *status,
                 const char *headers, const char *body)
{
    const char *wish = mg_get_header(conn, "Connection");
    const char *version = mg_get_request_info(conn)->http_version;
    bool closes = wish != NULL ? strcasecmp(wish, "close") == 0
                               : strcmp(version, "1.0") == 0;

    return mg_printf(conn,
                     "HTTP/1.1 %s\r\n%s\r\nContent-Length: %zu\r\n"
                     "Connection: %s\r\n\r\n%s",
                     status, headers, strlen(body),
                     closes ? "close" : "keep-alive", body);
}

static int constant(struct mg_connection *conn, void *body)
{
    reply(conn, "200 OK", "Content-Type: text/plain", body);
    return 200;
}

static int redirect(struct mg_connection *conn, void *unused)
{
    char location[64];

    (void)unused;
    snprintf(location, sizeof location, "Location: %s",
             peer_pictures[peer_random_picture()]);
    reply(conn, "302 Found", location, "");
    return 302;
}

static int echo(struct mg_connection *conn, void *unused)
{
    const char *query = mg_get_request_info(conn)->query_string;
    char value[4096];
    bool found = query != NULL && mg_get_var(query, strlen(query), "value",
                                             value, sizeof value) >= 0;
    char *body = peer_echo(found ? value : NULL);

    (void)unused;
    if (body == NULL)
        return mg_send_http_error(conn, 500, "%s", "no memory");
    reply(conn, "200 OK", "Content-Type: text/xml", body);
    free(body);
    return 200;
}

int main(int argc, char *argv[])
{
    char address[32];
    struct mg_callbacks callbacks = {0};
    struct mg_context *context;
    sigset_t set;
    int sig;

    if (argc != 3)
        errx(2, "usage: civetweb PORT THREADS");
    snprintf(address, sizeof address, "127.0.0.1:%s", argv[1]);
    /* Blocked before there are threads, so that only sigwait sees it. */
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set, NULL);

    /* clang-format off */
    const char *options[] = {
        "listening_ports", address,
        "num_threads", argv[2],
        "listen_backlog", "4096",
        "enable_keep_alive", "yes",
        "keep_alive_timeout_ms", "5000",
        NULL,
    };
    /* clang-format on */
    mg_init_library(0);
    context = mg_start(&callbacks, NULL, options);
    if (context == NULL)
        errx(1, "cannot start on %s", address);
    mg_set_request_handler(context, "/answer$", constant, "42");
    mg_set_request_handler(context, "/hello$", constant, "Hello, World!");
    mg_set_request_handler(context, "/redirect$", redirect, NULL);
    mg_set_request_handler(context, "/echo$", echo, NULL);
    sigwait(&set, &sig);
    mg_stop(context);
    mg_exit_library();
}
