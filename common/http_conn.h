/*
 * http_conn - the state of one client's connection, without the connection.
 *
 * A sans-I/O state machine: bytes go in, bytes come out, and no function here
 * waits, reads, writes or knows what a socket is. At any moment the connection
 * wants exactly one thing, and whoever drives it decides how to wait for that:
 *
 *     for (;;)
 *         switch (http_conn_want(c)) {
 *         case HTTP_WANT_READ:  read into http_conn_input(), then
 *                               http_conn_received() or http_conn_eof()
 *         case HTTP_WANT_REDIS: send each http_conn_next_command() to Redis,
 *                               give each reply to http_conn_reply()
 *         case HTTP_WANT_WRITE: send what http_conn_output() names, then
 *                               http_conn_sent(), and FIN if that says so
 *         case HTTP_WANT_CLOSE: close
 *         }
 *
 * blocking.c does this in a loop that waits; nonblocking.c does it in one that
 * goes away where it would have to wait, and comes back later.
 */
#ifndef HTTP_CONN_H
#define HTTP_CONN_H

#include <sys/uio.h>

#include "http_exchange.h"
#include "worker.h"

enum http_want {
    HTTP_WANT_READ,  /* more bytes from the client */
    HTTP_WANT_REDIS, /* the replies to its Redis commands */
    HTTP_WANT_WRITE, /* room to send */
    HTTP_WANT_CLOSE  /* nothing any more */
};

enum http_conn_state {
    HTTP_CONN_IDLE,    /* between requests, nothing read but empty lines: owns no
                          buffer, but while a blocking server waits with one in
                          hand */
    HTTP_CONN_HEAD,    /* part of a request's head has been read */
    HTTP_CONN_BODY,    /* the head is whole, its body is not */
    HTTP_CONN_REDIS,   /* the page waits for Redis */
    HTTP_CONN_CLOSING, /* the last answer is made; close once it is sent */
    HTTP_CONN_LINGER,  /* it is sent; what the client still sends is read and
                          thrown away. Closing with unread bytes would make the
                          kernel send RST, and forget what it has not sent yet;
                          and some clients' systems forget with a RST what has
                          arrived but was not read (RFC 9112, 9.6). */
};

/* What a connection may be waiting in, for deadlines. */
enum http_phase {
    HTTP_PHASE_NEW,     /* for the first byte of the first request */
    HTTP_PHASE_IDLE,    /* for the first byte of a further one */
    HTTP_PHASE_REQUEST, /* for the rest of it */
    HTTP_PHASE_REDIS,   /* for Redis */
    HTTP_PHASE_WRITE,   /* for the client to take its answer */
    HTTP_PHASE_LINGER,  /* for the client to see that it is over */
    HTTP_PHASES
};

/* Old clients send a CRLF behind the body of a POST. So many empty lines in
 * front of a request are taken for nothing, and the connection stays idle (RFC
 * 9112, 2.2 asks for at least one). With more of them a request has begun, lest
 * who sends nothing else looks idle for ever and holds up who waits. */
enum { HTTP_EMPTY_LINES_MAX = 4 };

struct http_conn { /* small: this is what an idle client costs */
    struct worker *worker;
    struct http_exchange *x; /* NULL while idle */
    char *peer;              /* client's address for the log; owned; or NULL */
    uint32_t requests;       /* answered on this connection */
    unsigned char state;     /* enum http_conn_state */
    bool linger;             /* when it closes, it lingers first */
    bool cut_off;            /* it closes, but the client wanted to go on */
    uint8_t empty_lines;     /* stepped over since the last request */
};

/* Where the output lies. First iov; when iov_count is 0, a part of a file. `more`
 * says that something follows the iov at once: such a part, or the FIN. */
struct http_output {
    struct iovec iov[2];
    int iov_count;
    bool more;    /* hold back a half-full packet */
    int file;     /* descriptor, or -1 */
    off_t offset;
    size_t count; /* bytes of the file */
};

/* A new connection; it belongs to the worker until http_conn_close(). `peer`
 * is taken over, may be NULL. */
void http_conn_open(struct http_conn *c, struct worker *worker, char *peer);

/* Gives back what the connection holds. Not while replies are due. */
void http_conn_close(struct http_conn *c);

enum http_want http_conn_want(const struct http_conn *c);
enum http_phase http_conn_phase(const struct http_conn *c);

/* READ: where to put bytes, and how many at most. NULL: no memory. */
char *http_conn_input(struct http_conn *c, size_t *room);

/* n bytes were put there. With n == 0, none have come yet. A connection that
 * has nothing but empty lines is idle, and gives its buffer back. */
void http_conn_received(struct http_conn *c, size_t n);

/* READ: the client has closed its side, or the connection is broken. */
void http_conn_eof(struct http_conn *c);

/* STORE: the next command to send, or NULL when all are sent. It stays valid
 * until its reply has been given. */
const struct redis_command *http_conn_next_command(struct http_conn *c);

/* STORE: the reply to the oldest unanswered command, or NULL when there will
 * be none. Lent, not taken. */
void http_conn_reply(struct http_conn *c, const redisReply *reply);

/* WRITE: what to send. */
void http_conn_output(const struct http_conn *c, struct http_output *output);

/* WRITE: n bytes of it went out. Returns true when these were the last of the
 * connection: the driver then sends FIN, shutdown(SHUT_WR), before it does
 * anything else. Only then does a last packet leave that was held back. */
bool http_conn_sent(struct http_conn *c, size_t n);

/* STORE: is the next command the first of its page? */
static inline bool http_conn_is_first_command(const struct http_conn *c)
{
    return c->x->sent == 0;
}

/* A client may be silent before its first request for so many times
 * --request-timeout: it has asked for nothing that could be late, and browsers
 * connect in advance, load tools to all before they send. */
enum { HTTP_SILENCE = 6 };

/* How long a phase may last, in milliseconds: for IDLE since the last answer,
 * for WRITE and LINGER since the client last took something, else since it
 * began. */
int http_conn_patience(const struct worker *worker, enum http_phase phase);

/* The deadline of its phase has passed: a request gets 408; anything else
 * closes. Not for STORE: there the driver gives NULL replies. */
void http_conn_timeout(struct http_conn *c);

/* CLOSE: a client that was cut off may have sent more requests, or send them yet.
 * Where net_close_may_reset() the driver calls this instead of closing. */
void http_conn_linger(struct http_conn *c);

/* Is what the client still sends only read to be thrown away? */
static inline bool http_conn_lingers(const struct http_conn *c)
{
    return c->state == HTTP_CONN_LINGER;
}

#endif
