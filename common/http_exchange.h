/*
 * http_exchange - one request and its answer, and the buffers they need.
 *
 * A connection takes an exchange from its worker's pool before it reads,
 * and returns it when no answer is left to send and nothing of the next
 * request has been read. An event loop also returns it when the read found
 * nothing: ten thousand idle clients cost it ten thousand small structs, not
 * ten thousand buffers.
 */
#pragma once

#include "bytes.h"
#include "clock.h"
#include "file_table.h"
#include "http_chunked.h"
#include "http_parser.h"
#include "redis_command.h"
#include "site.h"

struct http_exchange;
struct page;

enum {
    HTTP_READ_MAX = 16384, /* bytes that one read takes */
    /* Space for a head and a body, for what one read brings of the next
     * request, and for the framing of chunks. */
    HTTP_INPUT_SIZE = HTTP_HEAD_MAX + HTTP_BODY_MAX + HTTP_READ_MAX + 4096,
    HTTP_BATCH_MAX = 65536, /* collected answers are sent from this size on */
    HTTP_KEEP_BUFFER = 65536, /* of a buffer that is used again: larger ones
                                 are freed first */
    HTTP_PATH_MAX = 1024,   /* decoded path; a longer one names no file: 404 */
};

/* The part of a file that follows the bytes in `out`. */
struct http_file_part {
    struct open_file *file; /* holds a reference */
    off_t offset;
    size_t left;            /* bytes still to send; 0: none */
};

/* What the access log says about an answer. */
struct http_logged {
    struct slice line; /* the request line, in the exchange's input */
    int status;
    uint64_t content_bytes;
    const char *fault; /* what the page did wrong, or NULL */
};

/* What answers are made from, one for each worker, which sets the clock
 * (worker_update()). */
struct http_context {
    const struct site *site;
    struct clock clock;
    struct file_table files;     /* below public/ */

    struct http_exchange *spare; /* a stack: the last one is still in the
                                    processor's cache */
    unsigned spares;

    time_t fields_time; /* the second for which `fields` was made */
    size_t fields_length;
    char fields[160];   /* "Server: ...\r\nDate: ...\r\n" */
    unsigned seed;      /* of rand_r(3) */
};

/* Starts at a memory page: http_exchange_acquire() in http_exchange.c says
 * why. */
struct http_exchange {
    _Alignas(4096) struct http_exchange *next; /* in the context's pool */
    struct http_context *context;

    /* The request. Its slices point into `in`. */
    struct http_request request;
    struct slice request_body;
    struct http_chunked chunked;
    char path[HTTP_PATH_MAX + 1]; /* decoded, ends in NUL */

    /* The page, what it asks of Redis, and what it remembers: page.h. */
    const struct page *page;
    unsigned char asked;     /* commands that the page has asked for, ... */
    unsigned char taken;     /* that the server took to send to Redis, ... */
    unsigned char replied;   /* and whose replies the page has got */
    const char *fault;       /* what it does wrong, or NULL */
    char wrong_reply[72];    /* text of a fault that names a command */
    const char *peer;        /* the client's address, or NULL: the driver's,
                                which sets it before http_conn_answer() */
    struct buffer commands,  /* each a struct page_command, see page.c */
        memory;              /* the page's own: page_memory() */
    struct buffer kept;      /* text that it collects between replies */
    struct buffer scratch;   /* decoded form fields */
    struct buffer content;   /* an answer made in memory */

    /* The answer. `out` may start with answers to earlier requests. */
    int refused;            /* status of a malformed request, or 0 */
    int status;             /* 0: there is no answer yet */
    bool ended;             /* the answer is complete */
    bool close;             /* the connection ends after this answer */
    uint64_t content_bytes; /* of the body */
    struct http_logged logged; /* the answer completed last */
    size_t out_start;       /* where this answer begins in `out` */
    size_t out_sent;        /* bytes of `out` already sent */
    bool only_continue;     /* all of `out` is "100 Continue" */
    struct buffer out;
    struct http_file_part file_part;

    /* Input: in[in_start..in_end) has been read and not been used yet. */
    size_t in_start, in_end;
    /* Last: most requests touch its first memory page only, and the kernel
     * provides no other. */
    char in[HTTP_INPUT_SIZE];
};

/* Initializes a context that serves this site. `seed` is rand_r(3)'s. */
void http_context_init(struct http_context *context, const struct site *site,
                       unsigned seed);

/* Gives back what the context keeps only to be faster later: exchanges, and
 * files that no answer uses. For a worker that has nothing to do, and for a
 * shortage: what can be had again goes first. */
void http_context_trim(struct http_context *context);

/* After a failure with this errno: trims if descriptors or memory have run
 * out. Returns whether it did, so that another attempt may succeed. */
bool http_context_relieve(struct http_context *context, int error);

/* Frees what the context holds; every exchange must have been released. */
void http_context_free(struct http_context *context);

/* Returns an exchange, to be released by the caller; NULL: no memory. Nothing
 * of earlier answers is left in its buffers but old commands: what belongs to
 * one answer is reset by http_conn_answer() and page_begin(). */
struct http_exchange *http_exchange_acquire(struct http_context *context);

/* Empties what a page was made from, once the answer has a copy of it, and
 * frees it if it was large: a client that takes its answer slowly keeps the
 * answer in memory, no more. */
void http_exchange_shrink(struct http_exchange *x);

/* Puts *x back into the pool, unless it is NULL, and sets it to NULL. */
void http_exchange_release(struct http_exchange **x);

/* Moves what has not been used of the input to its front, where a request of
 * the largest size fits. */
void http_exchange_compact(struct http_exchange *x);

/* Skips empty lines before a request line. Returns whether anything of a
 * request is there; the first half of an empty line is not. */
bool http_exchange_find_request(struct http_exchange *x);
