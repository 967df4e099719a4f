/*
 * http_conn - a client's connection as a state machine, without the socket.
 *
 * Bytes go in, bytes come out ("sans-I/O"). This module never touches the
 * client's socket or Redis. It says what it wants next, and the code that
 * calls it, the driver, makes that system call and waits in its own way. (A
 * static file is opened while its answer is made: see file_table.h.)
 *
 *     for (;;)
 *         switch (http_conn_want(c)) {
 *         case HTTP_WANT_READ:   read into http_conn_input(), then call
 *                                http_conn_received(), or http_conn_abort()
 *                                at end of file
 *         case HTTP_WANT_ANSWER: a request is complete: http_conn_answer()
 *         case HTTP_WANT_REDIS:  send each http_conn_next_command(), pass each
 *                                reply to http_conn_reply()
 *         case HTTP_WANT_WRITE:  send what http_conn_output() names, then call
 *                                http_conn_sent()
 *         case HTTP_WANT_FIN:    shutdown(2) for writing, then
 *                                http_conn_fin_sent()
 *         case HTTP_WANT_LINGER: read and discard, then http_conn_lingered()
 *         case HTTP_WANT_CLOSE:  close the socket
 *         }
 *
 * There are two drivers: serve_blocking.c waits inside this loop;
 * event_loop.c leaves it where it would have to wait, and returns later.
 *
 * An answer that has begun reaches its client whole (RFC 9112, 9.6). The
 * danger is close(2). If the server has left bytes of the client unread, or
 * if more bytes arrive later, the kernel sends RST and drops what the client
 * has not acknowledged yet: the end of the last answer. So a connection that
 * this server ends goes through FIN and LINGER, and its socket is closed
 * when the client has acknowledged everything. A client that has announced
 * its last request (Connection: close, or HTTP/1.0 without keep-alive) sends
 * no more, so that close(2) is safe: FIN, then CLOSE.
 */
#pragma once

#include "http_exchange.h"

enum http_want {
    HTTP_WANT_READ,   /* more bytes from the client */
    HTTP_WANT_ANSWER, /* to be answered; no wait. The driver says whether the
                         connection may stay open */
    HTTP_WANT_REDIS,  /* replies to its Redis commands */
    HTTP_WANT_WRITE,  /* space in the socket's send buffer */
    HTTP_WANT_FIN,    /* to tell the client that no more will follow */
    HTTP_WANT_LINGER, /* to read what the client still sends, and discard it */
    HTTP_WANT_CLOSE   /* nothing: the connection is over */
};

/* Which deadline applies. Derived from the state; see http_conn_phase(). */
enum http_phase {
    HTTP_PHASE_NEW,     /* before the first byte of the first request */
    HTTP_PHASE_IDLE,    /* before the first byte of a later request */
    HTTP_PHASE_REQUEST, /* before the end of a request that has begun */
    HTTP_PHASE_DELIVER, /* before the socket has taken the answer */
    HTTP_PHASE_LINGER,  /* after the last answer, before the close */
    HTTP_PHASES         /* how many; for serve_blocking: none yet */
};

/* The one thing that a connection remembers of its progress. What it wants
 * and which deadline applies follow from it:
 *
 *     state          wants     phase
 *     IDLE           READ      NEW before the first answer, then IDLE
 *     HEAD, BODY     READ      REQUEST
 *     ANSWER         ANSWER    DELIVER
 *     REDIS          REDIS     DELIVER
 *     NEXT           http_conn_want() makes it IDLE, HEAD, BODY or ANSWER
 *     CLOSING        FIN       LINGER
 *     LINGER         LINGER    LINGER
 *     OVER           CLOSE     LINGER
 *
 * As long as bytes of an answer are left to send, the phase is DELIVER, and
 * where READ or FIN stands the connection wants WRITE. */
enum http_conn_state {
    HTTP_CONN_IDLE,    /* nothing of the next request has arrived; the last
                          answer may still be on its way out */
    HTTP_CONN_HEAD,    /* part of a request's head has been read */
    HTTP_CONN_BODY,    /* the head is complete, the body is not */
    HTTP_CONN_ANSWER,  /* the request is complete, or refused */
    HTTP_CONN_REDIS,   /* the page waits for Redis */
    HTTP_CONN_NEXT,    /* an answer is complete; the input may hold another
                          request: http_conn_want() looks */
    HTTP_CONN_CLOSING, /* the last answer is made; FIN once it is sent */
    HTTP_CONN_LINGER,  /* FIN is sent; discard what the client still sends */
    HTTP_CONN_OVER,    /* close the socket */
};

struct http_conn { /* small: an idle client costs it, too */
    struct http_context *context;
    struct http_exchange *x; /* may be NULL between requests */
    uint32_t requests;       /* answered on this connection */
    unsigned char state;     /* enum http_conn_state */
    bool linger;             /* after FIN: LINGER, not OVER */
    bool still_sending;      /* the client sends although its last answer is
                                made: LINGER gives it a second to read that,
                                even if all is delivered */
};

/* Whether the client has what was sent to it, when the driver last looked;
 * net_delivery() tells. */
enum http_delivery {
    HTTP_DELIVERED, /* the client has acknowledged all of it */
    HTTP_UNDER_WAY, /* not all, but more within http_stall_timeout_ms() */
    HTTP_STALLED,   /* nothing more for http_stall_timeout_ms() */
};

/* What to send next: a piece of memory or of a file. */
struct http_output {
    const char *data; /* NULL: it is a file's */
    size_t count;     /* bytes */
    bool more;        /* a file or the FIN follows: MSG_MORE */
    int file;         /* descriptor, or -1 */
    off_t offset;     /* in the file */
};

/* Starts a connection, with what the context holds. */
void http_conn_open(struct http_conn *c, struct http_context *context);

/* Gives the connection up, because the client has gone, breaks a limit or
 * outstays --drain-timeout: drops unfinished input and unsent output. It wants
 * CLOSE next. Not while replies from Redis are due: they need its exchange. */
void http_conn_abort(struct http_conn *c);

/* Ends a connection in good order, because the server cannot go on with it
 * or has no more time or room for it: drops unfinished input and unsent
 * output, so that FIN, then LINGER come next. Not while replies from Redis
 * are due. */
void http_conn_finish(struct http_conn *c);

/* Returns what the connection needs next. After an answer it first looks
 * for the next request in the input: what c->x->logged points to is gone
 * then. */
enum http_want http_conn_want(struct http_conn *c);
enum http_phase http_conn_phase(const struct http_conn *c);

/* READ: returns where to put bytes and sets *space to how many at most.
 * Takes an exchange from the pool if there is none; NULL when memory runs
 * out. */
char *http_conn_input(struct http_conn *c, size_t *space);

/* READ: n bytes were put there; 0: none yet, so the input may be released.
 * An empty line before a request line is skipped: it begins no request (RFC
 * 9112, 2.2). */
void http_conn_received(struct http_conn *c, size_t n);

/* Returns whether bytes of a further, pipelined request are here. */
bool http_conn_has_pipelined(const struct http_conn *c);

/* ANSWER: answers the request. The connection stays open afterwards only if
 * the client asked for that and `may_keep` allows it. Returns true when the
 * answer is made, with its log entry in c->x->logged, to be used before
 * anything else is called; false when the page needs Redis first. */
bool http_conn_answer(struct http_conn *c, bool may_keep);

/* REDIS: returns the next command to send, valid until the next call here;
 * NULL when all have been returned, or the others wait for a reply. */
const struct redis_command *http_conn_next_command(struct http_conn *c);

/* REDIS: passes on the reply to the oldest unanswered command, or NULL when
 * there will be none. The reply stays the caller's. Returns as
 * http_conn_answer(). */
bool http_conn_reply(struct http_conn *c, const struct redisReply *reply);

/* WRITE: names what to send. */
void http_conn_output(const struct http_conn *c, struct http_output *output);

/* WRITE: n bytes of it have been sent. After the last one, begins a request
 * that had to wait, or gives the exchange back if none has begun. */
void http_conn_sent(struct http_conn *c, size_t n);

/* FIN: it is sent, which also releases a packet held back by MSG_MORE. */
void http_conn_fin_sent(struct http_conn *c);

/* LINGER: bytes were `discarded`, or there are none now. A client that
 * still sends is given time to read that this is the end, and to close. */
void http_conn_lingered(struct http_conn *c, bool discarded,
                        enum http_delivery delivery);

/* Returns how many milliseconds a phase may last: IDLE since the last
 * answer, the others since they began. DELIVER ends when the socket has
 * taken the answer, LINGER when the client has it; for them this is how
 * often to look how far it has come. (While the page waits for Redis, that
 * has a deadline of its own: REDIS_TIMEOUT_MS.) */
int http_phase_timeout_ms(const struct site *site, enum http_phase phase);

/* Returns for how long a client may take nothing of its answer. */
static inline int http_stall_timeout_ms(const struct site *site)
{
    return 2 * site->request_timeout_ms;
}

/* The deadline of the phase has passed. A request that has begun is
 * answered with 408. DELIVER goes on unless it has stalled; so does LINGER
 * until the answer is delivered. Any other phase: http_conn_finish(). */
void http_conn_on_timeout(struct http_conn *c, enum http_delivery delivery);
