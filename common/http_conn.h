/*
 * http_conn - one client's connection as a state machine, without the socket.
 *
 * Bytes go in, bytes come out ("sans-I/O"). This module never touches the
 * client's socket or Redis. It says what it wants next, and the code that calls
 * it, the driver, makes that system call and waits in its own way. (A static
 * file is opened while its answer is made: see file_table.h.)
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
 *         case HTTP_WANT_CLOSE:  close the socket
 *         }
 *
 * There are two drivers: serve_blocking.c waits inside this loop; event_loop.c
 * leaves it where it would have to wait, and returns later.
 */
#pragma once

#include "http_exchange.h"
#include "options.h"

enum http_want {
    HTTP_WANT_READ,   /* more bytes from the client */
    HTTP_WANT_ANSWER, /* to be answered; no wait. The driver says whether the
                         connection may stay open */
    HTTP_WANT_REDIS,  /* replies to its Redis commands */
    HTTP_WANT_WRITE,  /* room in the socket's send buffer */
    HTTP_WANT_CLOSE   /* nothing: the connection is over */
};

/* Which deadline applies. Derived from the state; see http_conn_phase(). */
enum http_phase {
    HTTP_PHASE_NEW,     /* before the first byte of the first request */
    HTTP_PHASE_IDLE,    /* before the first byte of a later request */
    HTTP_PHASE_REQUEST, /* before the end of a request that has begun */
    HTTP_PHASE_ANSWER,  /* before the client has taken its answer */
    HTTP_PHASE_LINGER,  /* after the last answer, before the client closes */
    HTTP_PHASES         /* how many there are; also: none yet */
};

enum http_conn_state {
    HTTP_CONN_IDLE,    /* between requests: nothing of the next has arrived */
    HTTP_CONN_HEAD,    /* part of a request's head has been read */
    HTTP_CONN_BODY,    /* the head is complete, the body is not */
    HTTP_CONN_ANSWER,  /* the request is complete, or refused */
    HTTP_CONN_REDIS,   /* the page waits for Redis */
    HTTP_CONN_CLOSING, /* the last answer is made; close once it is sent */
    HTTP_CONN_LINGER,  /* it is sent; discard what the client still sends */
};

struct http_conn { /* small: this is what an idle client costs */
    struct http_context *context;
    struct http_exchange *x; /* may be NULL between requests */
    uint32_t requests;       /* answered on this connection */
    unsigned char state;     /* enum http_conn_state */
    bool linger;             /* after its last answer, linger before closing */
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

/* Gives the connection up: drops unfinished input and unsent output. It wants
 * CLOSE next. Not while replies from Redis are due: they need its exchange. */
void http_conn_abort(struct http_conn *c);

enum http_want http_conn_want(const struct http_conn *c);
enum http_phase http_conn_phase(const struct http_conn *c);

/* READ: returns where to put bytes and sets *room to how many at most; NULL
 * when memory runs out. */
char *http_conn_input(struct http_conn *c, size_t *room);

/* READ: n bytes were put there; 0: none yet, so the input may be released. */
void http_conn_received(struct http_conn *c, size_t n);

/* Are bytes of a further, pipelined request already here? */
bool http_conn_has_pipelined(const struct http_conn *c);

/* ANSWER: answers the request. The connection stays open afterwards only if
 * the client asked for that and `may_keep` allows it. Returns true when the
 * answer is complete, with its log entry in c->x->logged; false when the page
 * needs Redis first. */
bool http_conn_answer(struct http_conn *c, bool may_keep);

/* REDIS: returns the next command to send, valid until its reply has been
 * passed on; NULL when all have been sent. */
const struct redis_command *http_conn_next_command(struct http_conn *c);

/* REDIS: passes on the reply to the oldest unanswered command, or NULL when
 * there will be none. The reply stays the caller's. Returns as
 * http_conn_answer(). */
bool http_conn_reply(struct http_conn *c, const redisReply *reply);

/* WRITE: names what to send. */
void http_conn_output(const struct http_conn *c, struct http_output *output);

/* WRITE: n bytes of it have been sent. Returns true when they were the last of
 * the connection: the driver must send FIN next, shutdown(SHUT_WR), which also
 * releases the packet that MSG_MORE held back. */
bool http_conn_sent(struct http_conn *c, size_t n);

/* Returns how many milliseconds a phase may last: IDLE since the last answer,
 * the others since they began. For ANSWER, INT_MAX: Redis has a deadline of its
 * own, and so has a client that takes nothing (TCP_USER_TIMEOUT, see net.c). */
int http_phase_timeout_ms(const struct options *options, enum http_phase phase);

/* The deadline of the phase has passed. A request that has begun is answered
 * with 408, anything else closes. */
void http_conn_on_timeout(struct http_conn *c);
