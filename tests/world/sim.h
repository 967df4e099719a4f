/*
 * sim - a world in memory: clients, a network, a Redis, a clock, one server.
 *
 * The server is real: main.c of 01, 06 or 07 with all of common/ and hiredis.
 * The linker sends its system calls to this folder (ld --wrap), where a seed
 * decides what they meet. A world has no thread: whatever happens elsewhere
 * happens while the server is inside a system call, which is when it could
 * notice. Nothing waits for real, so a world that lasts a minute takes 200 us.
 *
 *     run.c        seeds in, `N passed, N failed` out
 *     plan.c       what a seed decides for a whole world
 *     time.c       virtual time, events in order, signals
 *     tcp.c        connections: buffers, FIN, RST, timeouts
 *     calls.c      receiving, sending, closing
 *     opening.c    accept, connect, options of sockets
 *     ready.c      poll and epoll
 *     files.c      the site and the access log
 *     memory.c     allocations that are counted, and fail
 *     client.c     clients: what they send, read and do
 *     script.c     the requests that they send
 *     answer.c     what they receive, byte by byte
 *     redis_sim.c  Redis, on the level of bytes
 *     rules.c      what must hold: answers, log, ends of connections
 *     limits.c     what must hold: deadlines, no spinning, no starving
 */
#ifndef SIM_H
#define SIM_H

#include <setjmp.h>
#include <stdarg.h>

#include "net_sim.h"
#include "server.h"

enum {
    CLIENTS_MAX = 12,
    REQUESTS_MAX = 72, /* 01 to 05 yield after 64 */
    REDIS_SOCKETS = 8,
    SOCKETS_MAX = CLIENTS_MAX + REDIS_SOCKETS,
    FDS_MAX = 48,
};

enum { MS = 1000, SECOND = 1000 * MS }; /* times are in microseconds */

/* ------------------------------------------------ what a seed decides: plan */

enum trouble {       /* each is a bit of sim.plan.troubles */
    SPLITS,          /* clients write in pieces */
    LATENCY,         /* packets take time */
    SMALL_BUFFERS,   /* sends are short, and fail with EAGAIN */
    SLOW_READERS,
    STOPPED_READERS, /* read a part and no more */
    LEAVERS,         /* close or reset at any time */
    SILENT,          /* stop in the middle of a request, or before the first */
    FURTHER,         /* go on sending although the connection ends */
    STRAY_LINES,     /* an empty line follows the last request */
    MALFORMED,       /* requests that are refused */
    REDIS_AWAY,      /* refuses, or never answers the handshake */
    REDIS_SLOW,
    REDIS_BUSY,      /* slow, but no client has a reason to give up */
    REDIS_DRIBBLES,  /* replies byte by byte */
    REDIS_CLOSES,
    REDIS_ERRORS,    /* replies with errors */
    REDIS_GARBAGE,   /* replies that are not its protocol */
    REDIS_UNASKED,   /* replies that no command asked for */
    REDIS_ANNOUNCES, /* replies that announce two billion elements */
    ACCEPT_ERRORS,
    FEW_DESCRIPTORS,
    NO_MEMORY,       /* allocations fail */
    ADD_FAILS,       /* EPOLL_CTL_ADD does */
    OPEN_ERRORS,     /* openat2 does; files are truncated */
    SLOW_STEPS,      /* time passes between any two calls */
    EARLY_STOP,      /* SIGTERM at any call */
    SIGNALS,         /* SIGUSR1, SIGHUP */
    TROUBLES
};

struct plan {
    uint64_t seed;
    const struct sim_server *server;
    uint32_t troubles;
    int clients;
    int keep_alive_ms, request_timeout_ms, drain_timeout_ms, max_connections;
    bool pipeline, unix_redis, no_redis;
    int preloaded;          /* remarks in the guestbook, and the size of each */
    int remark_size;
    int64_t call_cost_us;   /* at most */
    int stop_at_call;       /* SIGTERM then; 0: when all clients are done */
    int backlog;
    bool per_connection;    /* 01 stands for 02 and 04, too ... */
    bool at_capacity;       /* ... which may have room for more clients */
};

struct sim_server {
    const char *name;
    int (*main)(int argc, char **argv);
    bool event_loop, epoll;
};

static inline bool plan_has(const struct plan *plan, enum trouble t)
{
    return plan->troubles >> t & 1;
}

/* Makes the plan of a seed, without the troubles in `left_out`. */
void plan_make(struct plan *plan, const struct sim_server *server,
               uint64_t seed, uint32_t left_out);
void plan_print(const struct plan *plan);
extern const char *const trouble_names[TROUBLES];

/* The options that a plan stands for, and the world's own server_start(). */
void plan_options(const struct plan *plan, struct options *options);

/* ------------------------------------------------------------------- chance */

uint64_t chance_next(void);
void chance_seed(uint64_t seed);
static inline int chance_below(int n) /* 0 to n - 1 */
{
    return (int)(chance_next() % (uint64_t)n);
}
static inline bool chance_percent(int percent)
{
    return chance_below(100) < percent;
}
#define CHANCE_OF(array) \
    ((array)[chance_below((int)(sizeof(array) / sizeof((array)[0])))])

/* --------------------------------------------------------------------- time */

/* Calls run(who, argument) at a time; if `of` is not NULL, only while that
 * socket is still the same connection. */
void time_at(int64_t at_us, void (*run)(struct socket *of, int64_t argument),
             struct socket *of, int64_t argument);

/* What each simulated call begins with: a little time passes, what is due
 * happens, and so does a signal. `counts`: it may be chosen for SIGTERM. */
void time_call(void);

/* Lets time pass until done(data), or for timeout_us (-1: no limit), or until a
 * signal. Returns 1, 0, or -1 with errno EINTR. */
int time_wait(bool (*done)(const void *data), const void *data,
              int64_t timeout_us);

/* Sends the server a signal now. */
void time_signal(int number);
void time_reset(void);
void clock_gettime_real(struct timespec *t); /* the machine's */

/* -------------------------------------------------------------------- files */

struct site_file {
    const char *path;
    size_t size;
    bool folder;
};
enum { FILE_INDEX, FILE_NOTES, FILE_EMPTY, FILE_BIG, FILE_HUGE, FILE_FOLDER,
       SITE_FILES };
extern const struct site_file site_files[SITE_FILES];
/* Does a file have these bytes at offset? */
bool site_file_has(int file, size_t offset, const char *bytes, size_t n);

/* ------------------------------------------------------------------ clients */

enum body { BODY_NONE, BODY_FILE, BODY_TEXT, BODY_ANY, BODY_GUESTBOOK };

struct request {
    size_t begin, head_end, end; /* in the client's script */
    size_t line;                 /* length of the request line */
    int status;
    enum body body;
    bool head;            /* HEAD */
    bool last;            /* the client says that nothing follows */
    bool old;             /* HTTP/1.0 */
    bool refused;         /* its answer closes the connection */
    bool redis, post;
    bool expects;         /* 100-continue */
    bool waits;           /* sent only after the answer to the one before */
    int remark;           /* number of the remark, if it is one */
    int file;
    size_t first, length; /* of the body */
    char text[96];        /* the body, for BODY_TEXT */
};

enum reading { IN_HEAD, IN_BODY };

struct client {
    int number;
    struct socket *socket;
    char *script;
    size_t size, room, sent;
    struct request requests[REQUESTS_MAX];
    int count;
    int64_t connect_us, gap_us, read_delay_us;
    size_t piece_max, read_max;
    uint64_t stop_reading_at;
    size_t stop_sending_at;
    bool stubborn;         /* sends on although the connection ends */
    bool half_closes, stays, stray_line;
    bool connected, done;
    bool may_send_body;    /* 100 Continue has come, or its time has passed */
    bool reading, writing; /* an event is due */
    const char *left;      /* how it ended the connection; NULL: it did not */

    /* What it has received. */
    enum reading state;
    char head[2048];
    size_t head_size;
    struct buffer page;
    int answers;           /* whole ones */
    int status;            /* of the one being read */
    uint64_t body_left, body_size, content_length;
    bool close_said, interim;
    int waiting_for;       /* the answer, counted from 1, that is due ... */
    int64_t waiting_us;    /* ... and since when it is */
    int statuses[REQUESTS_MAX + 1];
    uint64_t sizes[REQUESTS_MAX + 1];
    bool ended, was_reset; /* FIN, RST */

    /* What the log says. */
    int lines;
    int line_statuses[REQUESTS_MAX + 1];
    uint64_t line_sizes[REQUESTS_MAX + 1];
    bool may_be_last[REQUESTS_MAX + 1]; /* made after SIGTERM, nothing behind */
    bool unlogged;         /* log lines may be missing */

    int64_t begun_us[REQUESTS_MAX]; /* when it sent the first byte of each */
    int64_t whole_us[REQUESTS_MAX]; /* ... and the last; 0: it did not */
    const char *excuse;    /* why an answer may be missing, or NULL */
};

void client_make(struct client *c, int number);
void client_write_script(struct client *c);
void client_data(struct client *c);  /* bytes or FIN have arrived */
void client_reset(struct client *c); /* RST has */
void client_leave(struct client *c, const char *how, bool reset);
void client_go_on(struct client *c); /* an answer is complete */
void client_done(struct client *c);
int client_waiting(void); /* the first that is not done */

/* Reads n bytes, or of a file; calls rules_answer() for each answer. */
void answer_feed(struct client *c, const char *bytes, int file, size_t offset,
                 size_t n);

/* -------------------------------------------------------------------- Redis */

enum { REMARKS_MAX = 256 };
void redis_sim_reset(void);
void redis_sim_connect(struct socket *s);
void redis_sim_data(struct socket *s);
int redis_sim_times(int remark); /* how often it is in the list */
int redis_sim_remarks(void);
int redis_sim_visits(void);
void redis_sim_trouble(void);    /* its users may see a 503 for a while */
void redis_sim_is_well(void);    /* a page is made: the back-off is over */
/* Is this the text of the remark that is number `i` in the list? */
bool redis_sim_is_remark(int i, const char *text, size_t n);

/* ------------------------------------------------------------------- memory */

void memory_reset(void);
int memory_blocks(void);
size_t memory_bytes(void);

/* -------------------------------------------------------------------- rules */

/* Each says what has happened; a rule that is broken ends the world. */
void rules_reset(void);
void rules_answer(struct client *c);
void rules_end(struct client *c);         /* the client's connection is over */
void rules_log(const char *line, size_t n);
void rules_close(struct socket *s);       /* the server ends it, FIN or close */
int rules_open_clients(void);
void rules_closed(struct socket *s);      /* close */
void rules_step(void);                    /* the server is about to wait */
void rules_sleeps(void);                  /* it does: time passes */
void rules_waited(bool timed_out, int64_t timeout_us);
void rules_over(int status);              /* the server has ended */
void rules_fault(const char *excuse);     /* something was injected */
void rules_progress(void);
void rules_read(struct socket *s);        /* the server has read */
int64_t rules_early_us(void);             /* how early the server may be: its
                                             clock is coarse, and an iteration
                                             has one time */

/* Lets the clients see the end of a server that has gone. */
void time_drain(void);

/* ---------------------------------------------------------------- the world */

struct sim {
    struct plan plan;
    int64_t now_us;
    unsigned calls;            /* so far */
    bool tracing;
    bool started;              /* the server has waited once */
    bool interrupted;          /* a signal arrived during the wait */
    int64_t stop_us;           /* when SIGTERM was sent; 0: it was not */
    int64_t first_stop_us;
    bool stop_planned, listener_shut, over;
    bool add_failed;
    int64_t full_us;           /* when there were as many clients as allowed */
    int64_t exhausted_us;      /* when accept last failed for lack of something,
                                  or the limit of clients was reached */
    int64_t redis_trouble_us;  /* until when a 503 is excused */
    bool redis_lied;           /* it has sent a reply to no command */
    int clients_left;
    struct fd fds[FDS_MAX];
    struct socket sockets[SOCKETS_MAX];
    struct client clients[CLIENTS_MAX];
    struct socket *queue[CLIENTS_MAX]; /* accept queue */
    int queue_length;
    const struct server *server;
    jmp_buf failed;
    char sentence[512];
    uint64_t lines, answers;
};

extern struct sim sim;

/* Prints a line of the trace: the time, then this. */
#define trace(...) (sim.tracing ? trace_print(__VA_ARGS__) : (void)0)
void trace_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Ends the world: a rule is broken. */
_Noreturn void fail(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

#endif
