/*
 * site - what the HTTP half of common/ knows about the server it works for.
 *
 * The HTTP half (http_parser, http_conn, http_exchange, http_response,
 * router, the pages and what they use) knows no options, calls no socket and
 * no Redis: pages only read replies. A server fills in this struct when it
 * starts (describe_site() and share_descriptors() in server.c, then
 * site_open(), which reads the folders), a test fills in its own.
 */
#pragma once

#include <dirent.h>
#include <uthash.h>

#include "bytes.h"

/* The text of templates/NAME/index.html. */
struct site_template {
    const char *name;
    struct slice text;
    UT_hash_handle hh; /* uthash: an entry of site.templates */
};

struct site { /* constant once the first worker runs */
    const char *name;      /* of the server: "epoll" */
    char signature[64];    /* the Server field: "zerohttpd/2.0 (epoll)" */
    int public_folder;     /* descriptor of public/ */
    struct site_template *templates; /* by name; read once */
    struct dirent **pictures; /* the files in public/pictures/ */
    unsigned picture_count;
    unsigned files_per_worker; /* how many each may keep open; at least 1: the
                                  server's share of descriptors decides */
    bool pipeline;         /* send a page's Redis commands together */
    bool compute;          /* /compute exists: any client may use the CPU */
    bool names_clients;    /* a page wants its client's address; from
                              site_open() */
    int keep_alive_ms;     /* an idle connection stays open this long */
    int request_timeout_ms; /* ... and a request may take this long */
};
