/* libevent: the HTTP server it brings along, evhttp, one loop a process.
 *
 *     libevent HOST PORT WORKERS
 */
#define _GNU_SOURCE
#include "peer.h"

#include <arpa/inet.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <sys/queue.h>
#include <sys/socket.h>

static void add_header(struct evhttp_request *req, const char *name,
                       const char *value)
{
    evhttp_add_header(evhttp_request_get_output_headers(req), name, value);
}

/* The body of a constant answer is not copied, only referred to. */
static void constant(struct evhttp_request *req, void *body)
{
    add_header(req, "Content-Type", "text/plain");
    evbuffer_add_reference(evhttp_request_get_output_buffer(req), body,
                           strlen(body), NULL, NULL);
    evhttp_send_reply(req, HTTP_OK, NULL, NULL);
}

static void redirect(struct evhttp_request *req, void *unused)
{
    (void)unused;
    add_header(req, "Location", peer_pictures[peer_random_picture()]);
    evhttp_send_reply(req, HTTP_MOVETEMP, NULL, NULL);
}

static void echo(struct evhttp_request *req, void *unused)
{
    const char *query =
        evhttp_uri_get_query(evhttp_request_get_evhttp_uri(req));
    struct evkeyvalq params;
    char *body;

    (void)unused;
    TAILQ_INIT(&params);
    if (query != NULL)
        evhttp_parse_query_str(query, &params);
    body = peer_echo(evhttp_find_header(&params, "value"));
    evhttp_clear_headers(&params);
    if (body == NULL) {
        evhttp_send_error(req, HTTP_INTERNAL, NULL);
        return;
    }
    add_header(req, "Content-Type", "text/xml");
    evbuffer_add(evhttp_request_get_output_buffer(req), body, strlen(body));
    evhttp_send_reply(req, HTTP_OK, NULL, NULL);
    free(body);
}

static void leave(evutil_socket_t sig, short events, void *base)
{
    (void)sig, (void)events;
    event_base_loopbreak(base);
}

int main(int argc, char *argv[])
{
    struct sockaddr_in addr = {
        .sin_family = AF_INET,
    };
    struct event_config *config;
    struct event_base *base;
    struct evconnlistener *listener;
    struct evhttp *http;

    if (argc != 4)
        errx(2, "usage: libevent HOST PORT WORKERS");
    addr.sin_addr.s_addr = inet_addr(argv[1]);
    addr.sin_port = htons((unsigned short)strtoul(argv[2], NULL, 10));
    signal(SIGPIPE, SIG_IGN);
    peer_fork_workers(strtoul(argv[3], NULL, 10));

    /* evhttp takes back most of what it asks the epoll set for before the next
     * wait; with a list of changes the kernel hears only of the rest. */
    config = event_config_new();
    if (config == NULL)
        errx(1, "no memory");
    event_config_set_flag(config, EVENT_BASE_FLAG_EPOLL_USE_CHANGELIST);
    base = event_base_new_with_config(config);
    event_config_free(config);
    http = base != NULL ? evhttp_new(base) : NULL;
    if (http == NULL)
        errx(1, "cannot make an event loop");
    listener = evconnlistener_new_bind(
        base, NULL, NULL,
        LEV_OPT_REUSEABLE | LEV_OPT_REUSEABLE_PORT | LEV_OPT_CLOSE_ON_FREE,
        4096, (struct sockaddr *)&addr, sizeof addr);
    if (listener == NULL || evhttp_bind_listener(http, listener) == NULL)
        err(1, "cannot listen on %s:%s", argv[1], argv[2]);
    evhttp_set_allowed_methods(http, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD);
    evhttp_set_cb(http, "/answer", constant, "42");
    evhttp_set_cb(http, "/hello", constant, "Hello, World!");
    evhttp_set_cb(http, "/redirect", redirect, NULL);
    evhttp_set_cb(http, "/echo", echo, NULL);
    event_add(evsignal_new(base, SIGTERM, leave, base), NULL);
    event_base_dispatch(base);
}
