/* sim - time, chance and the end of a world; see sim.h. */
#include "sim.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A process that makes this many calls while nothing happens spins. */
enum { IDLE_STEPS_MAX = 1000, STEPS_MAX = 200000 };

struct sim sim;

/* ------------------------------------------------------------------- chance */

/* splitmix64: any seed is as good as any other. */
uint64_t sim_random(void)
{
    uint64_t z = sim.random += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

int64_t sim_below(int64_t n)
{
    return n > 0 ? (int64_t)(sim_random() % (uint64_t)n) : 0;
}

bool sim_percent(int percent)
{
    return percent > 0 && sim_below(100) < percent;
}

bool sim_per_mille(int per_mille)
{
    return per_mille > 0 && sim_below(1000) < per_mille;
}

static int64_t one_of(const int64_t *values, int n)
{
    return values[sim_below(n)];
}
#define ONE_OF(...) one_of((const int64_t[]){__VA_ARGS__}, \
    (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)))

/* Quiet worlds and rough ones: what goes wrong in most is seldom all at
 * once, or one trouble would hide another. */
static void make_plan(struct plan *p, const struct subject *subject)
{
    p->limit = 1 + (int)sim_below(LIMIT_MAX);
    if (subject == &epoll && p->limit == 1)
        p->limit = 2; /* one worker is a loop without a parent */
    p->drain_ms = ONE_OF(0, 50, 1000, 3000, 10000);
    p->clients = (int)ONE_OF(0, 3, 10, 25);
    p->serve_us = ONE_OF(100, 20 * MS, 500 * MS, 5 * SECOND);
    p->crash_us = ONE_OF(0, 0, 10, 300 * MS, 2 * SECOND, 20 * SECOND);
    p->stuck = (int)ONE_OF(0, 0, 0, 30);
    p->fork_fails = (int)ONE_OF(0, 0, 0, 10, 50);
    p->accept_fails = (int)ONE_OF(0, 0, 0, 10);
    p->eager = (int)ONE_OF(0, 0, 2, 20);
    p->preempted = (int)ONE_OF(0, 0, 5, 30);
    p->interrupts = (int)ONE_OF(0, 0, 0, 20);
    p->child_at = subject->children && sim_percent(20)
                      ? 1 + (int)sim_below(8) : 0;
    p->parent_dies = sim_percent(20);
    p->orphans = (int)ONE_OF(0, 0, 0, 0, 3);
    p->parent_dies &= p->orphans == 0; /* all would die with process 1 */
    p->no_memory = sim_percent(1);
}

/* ------------------------------------------------------------------- events */

void sim_at(int64_t at, enum event_kind kind, int which)
{
    if (sim.event_count == EVENTS_MAX)
        sim_fail("the world is too small: more than %d events", EVENTS_MAX);
    sim.events[sim.event_count++] = (struct event){at, kind, which};
}

static int earliest(void)
{
    int first = -1;
    for (int i = 0; i < sim.event_count; i++)
        if (first < 0 || sim.events[i].at < sim.events[first].at)
            first = i;
    return first;
}

int64_t sim_next_event(void)
{
    int i = earliest();
    return i < 0 ? NEVER : sim.events[i].at;
}

static void happen(int i)
{
    struct event event = sim.events[i];
    sim.events[i] = sim.events[--sim.event_count];
    sim_progress();
    switch (event.kind) {
    case EVENT_CLIENT:
        if (!sim.listener_shut)
            sim.queue++;
        say("a client connects: %d in the queue", sim.queue);
        break;
    case EVENT_CHILD_ENDS: child_end(event.which); break;
    case EVENT_ORPHAN_ENDS: orphan_end(); break;
    case EVENT_SIGNAL:
    case EVENT_ALARM: signal_post(event.which); break;
    }
}

void sim_events(void)
{
    int i;
    while ((i = earliest()) >= 0 && sim.events[i].at <= sim.now)
        happen(i);
}

/* What would happen later happens now: between two calls that follow each
 * other within microseconds. An alarm is never early. */
static void hurry(void)
{
    if (sim.event_count == 0)
        return;
    int i = (int)sim_below(sim.event_count);
    if (sim.events[i].kind != EVENT_ALARM)
        happen(i);
}

/* -------------------------------------------------------------------- steps */

void sim_progress(void)
{
    sim.idle_steps = 0;
}

static void pass_time(void)
{
    sim.now += 1 + sim_below(20);
    if (!sim_per_mille(sim.plan.preempted))
        return;
    int64_t long_time = sim_percent(5) ? 1500 * MS : 30 * MS;
    int64_t lost = sim_below(long_time);
    sim.now += lost;
    sim.stolen += lost;
}

void sim_step(const char *call)
{
    bool restart;
    if (++sim.steps > STEPS_MAX)
        sim_fail("makes more than %d calls", STEPS_MAX);
    if (++sim.idle_steps > IDLE_STEPS_MAX)
        sim_fail("spins: %d calls, the last of them %s, while nothing happens",
                 IDLE_STEPS_MAX, call);
    pass_time();
    sim_events();
    if (sim_percent(sim.plan.eager))
        hurry();
    if (thread_is_main())
        signal_deliver(&restart);
    thread_switch();
    rules_after_step();
}

/* ------------------------------------------------------------ trace and end */

void sim_say(const char *format, ...)
{
    va_list args;
    printf("%12.3f ms  %-9s %*s", (double)sim.now / MS,
           sim.in_child ? "child" : thread_name(), 2 * sim.in_handler, "");
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
}

void sim_fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(sim.why, sizeof sim.why, format, args);
    va_end(args);
    sim.failed = true;
    say("BROKEN: %s", sim.why);
    longjmp(sim.over, 1);
}

void sim_exit(int status)
{
    say("exits with status %d", status);
    sim.status = status;
    longjmp(sim.over, 1);
}

/* -------------------------------------------------------------------- a run */

/* The variables of the servers, and of signals.c, in sections of their own
 * (Makefile): each world begins with those of a new process. */
extern char __start_world_data[], __stop_world_data[], __start_world_bss[],
    __stop_world_bss[];

static void reset_variables(void)
{
    static char as_loaded[1 << 16];
    static bool loaded;
    size_t n = (size_t)(__stop_world_data - __start_world_data);
    if (n > sizeof as_loaded)
        abort();
    if (!loaded)
        memcpy(as_loaded, __start_world_data, n);
    loaded = true;
    memcpy(__start_world_data, as_loaded, n);
    memset(__start_world_bss, 0, (size_t)(__stop_world_bss -
                                          __start_world_bss));
}

/* SIGTERM comes to every world: while the server starts, while it is busy, or
 * when all has been quiet for long. */
static void plan_signals(void)
{
    int64_t stop = sim_below(sim_percent(30) ? 10 * MS : 8 * SECOND);
    static const int often[] = {SIGHUP, SIGHUP, SIGUSR1, SIGUSR1, SIGCHLD};
    sim_at(sim.now + stop, EVENT_SIGNAL, sim_percent(50) ? SIGTERM : SIGINT);
    if (sim_percent(20))
        sim_at(sim.now + stop + sim_below(500 * MS), EVENT_SIGNAL,
               sim_percent(50) ? SIGTERM : SIGINT);
    for (int n = (int)ONE_OF(0, 0, 1, 5); n > 0; n--)
        sim_at(sim.now + sim_below(stop + SECOND), EVENT_SIGNAL,
               often[sim_below(5)]);
    for (int n = sim.plan.orphans; n > 0; n--)
        sim_at(sim.now + sim_below(stop + SECOND), EVENT_ORPHAN_ENDS, 0);
}

static void plan_clients(void)
{
    int64_t spread = ONE_OF(100, 20 * MS, 4 * SECOND);
    for (int i = 0; i < sim.plan.clients; i++)
        sim_at(sim.now + sim_below(spread), EVENT_CLIENT, i);
}

static void begin(const struct subject *subject, uint64_t seed, bool trace)
{
    sim = (struct sim){.subject = subject, .seed = seed, .random = seed,
                       .trace = trace, .next_fd = FIRST_FD + LIMIT_MAX,
                       .stop_at = NEVER, .number = -1};
    sim.now = sim_percent(50) ? 10 * MS : sim_below(SECOND * 86400 * 300);
    make_plan(&sim.plan, subject);
    reset_variables();
    thread_begin_world();
    plan_signals();
    plan_clients();
}

bool sim_run(const struct subject *subject, uint64_t seed, bool trace)
{
    static char *argv[] = {"server", NULL};
    begin(subject, seed, trace);
    say("limit %d, drain timeout %d ms, %d clients", sim.plan.limit,
        (int)sim.plan.drain_ms, sim.plan.clients);
    if (setjmp(sim.over) == 0) {
        sim.status = subject->main(1, argv);
        say("main() returns %d", sim.status);
        sim.finished = true;
    }
    if (!sim.failed && setjmp(sim.over) == 0)
        rules_at_end();
    return !sim.failed;
}
