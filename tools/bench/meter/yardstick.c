/* How fast is this machine now? Small fixed pieces of work, done again and
 * again under load, tell.
 *
 *     yardstick CORE [OTHER]      the core of the server, and one of the load
 *
 * A line on standard input asks for the means (ns) since the last line:
 *
 *     VISITS WORK MEMORY HAND
 *
 * Cores of a virtual machine change from millisecond to millisecond, and
 * nothing in /proc shows it. The causes below are the likely ones; a guest
 * cannot see its host.
 *
 * work    a message through a socket, with warm caches. It takes a third
 *         longer while another guest works on the other hardware thread of
 *         this core.
 * memory  reading LINES cache lines that lie far apart. Other guests use the
 *         same last cache and the same memory.
 * hand    a cache line goes to core OTHER and back. That takes 80 ns while
 *         both cores share a cache, and 400 while the host runs them on two
 *         parts of its chip, or on two chips: each byte that the load sends
 *         the server goes the same way. 0 without OTHER.
 *
 * A visit takes 30 us. Both threads wake at the same multiple of PERIOD, so
 * that neither waits long for the other, and with a real-time priority where
 * that is allowed, so that a visit is not interrupted. The fastest of LAPS
 * counts: an interrupt in one of them says nothing about the core. */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    PERIOD = 4700000,   /* ns from visit to visit; no multiple of the kernel's tick, which
                           counts what it finds at work */
    PATIENCE = 300000,  /* ns to wait for the other thread */
    PAUSE = 100,        /* periods without a visit after one that came later than that */
    INTERRUPTED = 500000, /* a visit that takes longer (ns) does not count */
    LAPS = 3,
    HANDS = 6,          /* of which the fastest counts, too */
    LINES = 40,
    LINE = 64,          /* bytes */
    FAR = 65536,        /* lines of the memory: 4 MiB, more than a core's own cache */
    MESSAGE = 1000,     /* bytes */
};

struct line {
    struct line *next;
    char rest[LINE - sizeof(struct line *)];
};

static struct line memory[FAR];
static _Alignas(2 * LINE) atomic_long ball; /* odd: the other thread has it */

static long now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}

static long next_visit(void)
{
    return (now() / PERIOD + 1) * PERIOD;
}

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

/* Bind this thread to `core`, before all others there. */
static void settle(int core)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    if (sched_setaffinity(0, sizeof(set), &set) < 0)
        fail("yardstick: sched_setaffinity");
    struct sched_param first = {.sched_priority = 1};
    (void)sched_setscheduler(0, SCHED_FIFO, &first); /* root's; else as it is */
}

/* Send a message and receive it; return how long that took (ns). */
static long work(const int pair[2])
{
    static _Thread_local char buffer[MESSAGE];
    long begun = now();
    if (write(pair[0], buffer, sizeof(buffer)) < 0 || read(pair[1], buffer, sizeof(buffer)) < 0)
        fail("yardstick: socketpair");
    return now() - begun;
}

/* The shortest of LAPS; the first brings code and data into the caches. */
static long warm_work(const int pair[2])
{
    long best = INTERRUPTED;
    work(pair);
    for (int lap = 0; lap < LAPS; lap++) {
        long took = work(pair);
        best = took < best ? took : best;
    }
    return best;
}

static bool wait_for(long turn, long until)
{
    while (atomic_load(&ball) != turn)
        if (now() > until)
            return false;
    return true;
}

/* The other core: give the ball back until HANDS are done. */
static void *other_core(void *core)
{
    settle(*(int *)core);
    for (;;) {
        long due = next_visit();
        struct timespec at = {.tv_sec = due / 1000000000, .tv_nsec = due % 1000000000};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
        long until = now() + PATIENCE;
        for (long turn = 1; turn < 2 * HANDS && wait_for(turn, until); turn += 2)
            atomic_store(&ball, turn + 1);
    }
    return NULL;
}

/* Return how long the ball takes to the other core and back (ns), 0 if that
 * core did not come in time. */
static long hand(void)
{
    long best = PATIENCE, until = now() + PATIENCE;
    for (long turn = 1; turn < 2 * HANDS; turn += 2) {
        long begun = now();
        atomic_store(&ball, turn);
        if (!wait_for(turn + 1, until))
            return 0;
        long took = now() - begun;
        best = took < best ? took : best;
    }
    return best;
}

/* Chain the lines in random order: no prefetcher guesses it. */
static void chain(void)
{
    static int order[FAR];
    for (int i = 0; i < FAR; i++) {
        int j = (int)(random() % (i + 1));
        order[i] = order[j];
        order[j] = i;
    }
    for (int i = 0; i < FAR; i++)
        memory[order[i]].next = &memory[order[(i + 1) % FAR]];
}

int main(int argc, char **argv)
{
    if (argc != 2 && argc != 3) {
        fprintf(stderr, "usage: yardstick CORE [OTHER]\n");
        return 2;
    }
    int core = (int)strtol(argv[1], NULL, 10);
    int other = argc > 2 ? (int)strtol(argv[2], NULL, 10) : -1;
    int pair[2];
    pthread_t thread;

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
        fail("yardstick: socketpair");
    if (other >= 0 && pthread_create(&thread, NULL, other_core, &other))
        fail("yardstick: pthread_create");
    settle(core);
    chain();
    long visits = 0, sum[3] = {0}, due = 0;
    volatile struct line *at = memory;
    for (;;) {
        struct pollfd asked = {.fd = 0, .events = POLLIN};
        if (due <= now())
            due = next_visit();
        struct timespec wait = {.tv_nsec = due - now()};
        atomic_store(&ball, 0);
        if (ppoll(&asked, 1, &wait, NULL) > 0) {
            char line[16];
            if (read(0, line, sizeof(line)) <= 0)
                return 0; /* bench has ended */
            long many = visits ? visits : 1;
            printf("%ld %ld %ld %ld\n", visits, sum[0] / many, sum[1] / many, sum[2] / many);
            fflush(stdout);
            visits = sum[0] = sum[1] = sum[2] = 0;
            continue;
        }
        /* The core was in a system call that nothing interrupts, as in a poll of thousands of
         * descriptors. The kernel reads its clock when this thread is woken, not when the
         * switch comes, and so charges the rest of that call to this thread: keep away. */
        long begun = now();
        if (begun - due > PATIENCE) {
            due = next_visit() + (long)PAUSE * PERIOD;
            continue;
        }
        long worked = warm_work(pair);
        long handed = other >= 0 ? hand() : 0, read_at = now();
        for (int i = 0; i < LINES; i++)
            at = at->next;
        long ended = now();
        if (ended - begun > INTERRUPTED || (other >= 0 && !handed))
            continue;
        visits++;
        sum[0] += worked;
        sum[1] += ended - read_at;
        sum[2] += handed;
    }
}
