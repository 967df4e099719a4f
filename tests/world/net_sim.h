/*
 * net_sim - connections and descriptors of a simulated world; see sim.h.
 */
#ifndef NET_SIM_H
#define NET_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* ---------------------------------------------------------------------- tcp */

struct piece {     /* of what was written in one call */
    uint64_t begin, end; /* positions in the stream */
    int file;      /* a site file, or -1 */
    size_t offset; /* in that file, or in stream.bytes */
};

struct stream {    /* one direction; positions count from its start */
    char *bytes;
    size_t size, room;
    struct piece *pieces;
    int count, piece_room;
    uint64_t end;     /* written by the program that sends */
    uint64_t held;    /* of these, how many at the end MSG_MORE holds back */
    uint64_t arrived; /* in the buffer of the other side, or beyond */
    uint64_t read;    /* by the program there */
    bool fin, fin_arrived;
};

enum peer { PEER_CLIENT, PEER_REDIS };

struct socket {    /* a connection, as the server sees it */
    enum peer peer;
    int number;        /* of the client */
    unsigned serial;   /* tells a connection from an earlier one */
    struct stream in, out;
    int64_t latency_us;
    size_t send_buffer, window; /* of the server, of the peer */
    int fd;            /* -1: none yet, or closed */
    bool in_use;
    bool nonblocking, connecting, connected;
    bool queued, accepted, closed;
    bool shut;         /* the server has sent FIN */
    bool reset;        /* RST has arrived, or the kernel gave up */
    bool peer_closed;  /* the peer's program is gone: data meets RST */
    bool lost;         /* RST is on its way to the peer */
    int error;         /* what the next call returns */
    bool no_space;     /* a send was short: tell when there is room */
    int64_t stuck_us;  /* since when the peer has taken nothing; 0: it has */
    int64_t receive_timeout_us, send_timeout_us; /* 0: none */

    bool watched, ready; /* in the epoll set; on its list */
    unsigned events;
    void *data;
    uint64_t ready_number; /* order on that list */

    /* For the rules: */
    int64_t queued_us, accepted_us, last_data_us, shut_us, closed_us;
    int64_t acked_us;  /* when the peer had all that was sent */
    int64_t io_us;     /* when the server last read or wrote */
    int64_t sent_us;   /* when it last wrote */
    int64_t begun_us;  /* when it read the first byte of a request ... */
    int begun;         /* ... and of which, counted from 1 */
    int64_t end_us;    /* when FIN or RST arrived */
};

struct socket *tcp_new(enum peer peer, int number);
void tcp_reset_all(void);

/* What the peer's program does. */
void tcp_peer_connect(struct socket *s);
void tcp_peer_send(struct socket *s, const void *bytes, size_t n,
                   int64_t gap_us); /* > 0: in two pieces, so far apart */
/* The first bytes one by one, so far apart. */
void tcp_peer_dribble(struct socket *s, const void *bytes, size_t n,
                      int64_t gap_us);
void tcp_peer_shutdown(struct socket *s);
void tcp_peer_close(struct socket *s);
void tcp_peer_reset(struct socket *s);
void tcp_peer_has_read(struct socket *s); /* out.read has changed: window */

/* What the server's program does. */
size_t tcp_room(const struct socket *s);
void tcp_send(struct socket *s, const char *bytes, int file, size_t offset,
              size_t n, bool more);
void tcp_shutdown(struct socket *s);
void tcp_close(struct socket *s);
unsigned tcp_events(const struct socket *s); /* as poll(2) reports them */
static inline size_t tcp_unread(const struct socket *s)
{
    return (size_t)(s->in.arrived - s->in.read);
}
void stream_append(struct stream *st, const char *bytes, int file,
                   size_t offset, size_t n);

/* ------------------------------------------------- descriptors, poll, epoll */

enum fd_kind { FD_FREE, FD_STANDARD, FD_LISTENER, FD_LOG, FD_FOLDER, FD_EPOLL,
               FD_FILE, FD_SOCKET };
enum { LISTENER_FD = 3, LOG_FD, FOLDER_FD, FIRST_FD };

struct fd {
    enum fd_kind kind;
    struct socket *socket;
    int file;
};

/* Returns the lowest free descriptor, or -1 with EMFILE. */
int fd_new(enum fd_kind kind, struct socket *socket, int file);
struct fd *fd_get(int fd); /* fails the world unless it is open */
struct socket *fd_socket(int fd);

/* "client 3" or "Redis"; valid until the next call. */
const char *socket_name(const struct socket *s);
/* Writes a call on a socket and its result into the trace; returns it. */
ssize_t socket_traced(const char *call, const struct socket *s, ssize_t result);
/* Returns -1 with the error that has been waiting for the next call. */
ssize_t socket_error(struct socket *s);

/* Something has changed that epoll may report. */
void ready_wake(struct socket *s);
void ready_wake_listener(void);
void ready_forget(struct socket *s);
void ready_reset(void);

#endif
