/*
 * sim - processes, threads and signals that exist in memory only.
 *
 * The program links the servers' real parents (02, 03, 04, 07) with a kernel
 * made of a few arrays: ld's --wrap sends every system call of theirs here. A
 * seed decides what happens between two calls: a child ends, a signal arrives,
 * a client connects, another thread runs. One world is one run of a server,
 * from its start to the return of its main(); it takes some 100 microseconds,
 * whatever its clock says.
 *
 * After each call rules.c checks what must hold. The first rule that does not
 * hold ends the world with one line, which names the seed.
 */
#pragma once

#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "serve_blocking.h"
#include "server.h"
#include "worker_processes.h"

enum {
    LIMIT_MAX = 4,       /* workers, children or threads of one world */
    CHILDREN_MAX = 256,  /* that one world forks */
    EVENTS_MAX = 512,
    FDS_MAX = 256,
    THREADS_MAX = 16,    /* of 04, the main one included */
    PARENT_PID = 1000,   /* or 1; children follow */
    ORPHAN_PID = 900,    /* the first of those that process 1 inherits */
    FIRST_FD = 10,
};

/* Virtual time is in microseconds. */
enum { MS = 1000 };
#define SECOND (1000 * (int64_t)MS)
#define NEVER INT64_MAX

/* ----------------------------------------------------------- what is tested */

/* One of the servers. Its world file includes the server's main.c, and so sees
 * the variables that are static there. */
struct subject {
    const char *name;
    int (*main)(int argc, char **argv);
    bool pool;     /* its workers are replaced: 03, 07 */
    bool children; /* it forks */
    /* Stores up to `most` free slots at `slots`, and returns how many there
     * are; NULL: there are no slots. */
    int (*free_slots)(const struct blocking_worker **slots, int most);
};

extern const struct subject forking, preforking, epoll, threaded;

/* ------------------------------------------------ what a seed decides first */

struct plan {
    int limit;            /* --max-children, --max-threads or --workers */
    int64_t drain_ms;     /* --drain-timeout */
    int clients;
    int64_t serve_us;     /* how long a client is served, at most */
    int64_t crash_us;     /* how long a worker of a pool lives, at most; 0: it
                             does not die */
    int stuck;            /* percent of children that end only if killed */
    int fork_fails;       /* percent */
    int accept_fails;     /* percent */
    int eager;            /* percent of calls before which an event that is due
                             later happens now */
    int preempted;        /* per mille of calls that take long */
    int interrupts;       /* per mille of waits that end with EINTR */
    int child_at;         /* the fork in which this world becomes the child's;
                             0: it stays the parent's */
    bool parent_dies;     /* before the child has asked for its signal */
    int orphans;          /* it is process 1, and inherits this many of others;
                             0: it is another process */
    bool no_memory;       /* the first calloc() fails */
};

/* -------------------------------------------------------------- the machine */

enum event_kind { EVENT_CLIENT, EVENT_CHILD_ENDS, EVENT_ORPHAN_ENDS,
                  EVENT_SIGNAL, EVENT_ALARM };

struct event {
    int64_t at;
    enum event_kind kind;
    int which; /* child or signal */
};

struct child {
    pid_t pid;
    int number;        /* worker of a pool, or -1 */
    enum { CHILD_RUNS, CHILD_ZOMBIE, CHILD_REAPED } state;
    int status;        /* as waitpid(2) stores it */
    bool stuck;        /* ends only when it is killed */
    int64_t ended_at, ended_stolen;
};

struct fd_state {
    bool open;
    bool accepted;
    int closed;  /* how often */
};

/* A wait of a thread: what it is in. */
enum waiting { WAIT_ACCEPT, WAIT_SIGNAL, WAIT_PAUSE, WAIT_SEMAPHORE, WAIT_MUTEX,
               WAIT_SERVING, WAIT_EVENTS };
enum woken { WOKEN_READY, WOKEN_TIMEOUT, WOKEN_SIGNAL };
typedef bool is_ready(void *data);

struct sim {
    const struct subject *subject;
    struct plan plan;
    uint64_t seed, random;
    bool trace;

    int64_t now;          /* monotonic */
    int64_t stolen;       /* of it, by other processes of the machine */
    unsigned steps, idle_steps; /* calls; those since something happened */

    struct event events[EVENTS_MAX];
    int event_count;

    struct child children[CHILDREN_MAX];
    int child_count;
    int running;          /* children that have not ended */
    int unreaped;         /* the same, with zombies */
    int orphans;          /* zombies that it has not forked ... */
    int64_t orphan_since, orphan_stolen; /* ... the oldest of them */

    uint64_t pending, blocked;      /* signals, as bits; of the main thread */
    struct sigaction actions[32];
    int in_handler;
    int64_t note_since[32];         /* of SIGUSR1, SIGHUP: unread; 0: read */
    int64_t note_stolen[32];
    int64_t stop_at, stop_stolen;   /* when the handler knew; NEVER: not yet */
    int64_t last_stop_signal;       /* delivered last */
    bool second_stop;               /* two that were meant as two came */

    struct fd_state fds[FDS_MAX];
    int next_fd;
    int queue;            /* clients in the accept queue */
    bool listener_shut;

    struct server *server;
    bool server_started;  /* nothing happens before */
    bool in_child;        /* this world has become a child's */
    int child_number;     /* ... of a pool */
    int forks;
    bool wants_death_signal, asked_for_parent, parent_dead;
    int served;           /* clients, by this process */
    bool files_open;      /* kept for the next client of this process */
    bool finished;        /* server_finish() was called */

    struct worker_processes *workers; /* of a pool's parent */
    int number;           /* the worker to fork next */
    struct { int64_t started, wanted, stolen; } worker[LIMIT_MAX];

    const struct blocking_worker *blocking[LIMIT_MAX + 1];
    int blocking_count, blocking_freed;

    int allocated;        /* blocks that are not freed */
    bool memory_failed;

    jmp_buf over;         /* where the world ends */
    int status;           /* exit status of the process */
    bool failed;
    char why[240];
};

extern struct sim sim;

/* Runs one world. Returns whether every rule held; sim.why says which did
 * not. */
bool sim_run(const struct subject *subject, uint64_t seed, bool trace);

/* ---------------------------------------------------------- time and chance */

uint64_t sim_random(void);
int64_t sim_below(int64_t n);           /* 0 .. n-1 */
bool sim_percent(int percent);
bool sim_per_mille(int per_mille);

/* Every simulated call begins with this: time passes, events happen, signals
 * reach their handlers, another thread may run. */
void sim_step(const char *call);

/* Something was done: the process does not spin. */
void sim_progress(void);

void sim_at(int64_t at, enum event_kind kind, int which);
int64_t sim_next_event(void);   /* its time, or NEVER */
void sim_events(void);          /* those that are due happen */

/* Writes a line of the trace. */
void sim_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
#define say(...) (sim.trace ? sim_say(__VA_ARGS__) : (void)0)

/* A rule does not hold, in a sentence: ends the world. */
_Noreturn void sim_fail(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/* The process exits with this status: ends the world. */
_Noreturn void sim_exit(int status);

/* ----------------------------------------------------- signals and children */

void signal_post(int number);      /* to the parent */
/* Runs the handlers of signals that are pending and not blocked. Returns how
 * many ran; *restart becomes false if one of them interrupts accept(2). */
int signal_deliver(bool *restart);
const char *signal_name(int number);
bool signal_is_pending(int number);
bool signal_waits(void);           /* is one pending and not blocked? */
void child_end(int index);         /* becomes a zombie */
pid_t parent_pid(void);
void orphan_end(void);
void children_hear_stop(void);     /* each ends within --drain-timeout */

/* ------------------------------------------------------------------ threads */

/* The current thread waits until ready(data), or until `until`. `ready` may be
 * NULL. Only the main thread is woken by signals, and only if `by_signal`;
 * handlers installed with SA_RESTART wake it only if `always`. */
enum woken thread_wait(enum waiting why, is_ready *ready, void *data,
                       int64_t until, bool by_signal, bool always);
void thread_begin_world(void);
void thread_switch(void);          /* perhaps another thread runs now */
bool thread_is_main(void);
const struct blocking_worker *thread_slot(int i); /* its slot, NULL: none */
const char *thread_name(void);
int thread_posts(void);            /* how many are between giving their slot
                                      back and saying so */
bool thread_serves(const struct blocking_worker *worker);
void thread_note(const struct blocking_worker *worker); /* serves; NULL: ends */
bool thread_holds_mutex(void);

/* -------------------------------------------------------------------- rules */

void rules_after_step(void);
/* Before the main thread sleeps. */
void rules_before_wait(enum waiting why, int64_t until);
void rules_before_fork(void);
void rules_at_end(void);
