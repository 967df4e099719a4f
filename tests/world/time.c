/* time - virtual time, events in order, signals; see sim.h. */
#include "sim.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

enum { EVENTS_MAX = 65536, CALLS_MAX = 400000 };

struct event {
    int64_t at_us;
    uint64_t order;  /* events of one time happen in the order of making */
    void (*run)(struct socket *of, int64_t argument);
    struct socket *of;
    unsigned serial; /* of that socket */
    int64_t argument;
};

static struct event heap[EVENTS_MAX]; /* the earliest first */
static int events;
static uint64_t order;
static void (*handlers[NSIG])(int);
static int64_t alarm_us; /* when SIGALRM is due; 0: it is not */

void time_reset(void)
{
    events = 0;
    order = 0;
    alarm_us = 0;
}

static bool is_before(const struct event *a, const struct event *b)
{
    return a->at_us != b->at_us ? a->at_us < b->at_us : a->order < b->order;
}

void time_at(int64_t at_us, void (*run)(struct socket *of, int64_t argument),
             struct socket *of, int64_t argument)
{
    struct event event = {at_us < sim.now_us ? sim.now_us : at_us, order++, run,
                          of, of != NULL ? of->serial : 0, argument};
    int i = events++;
    if (events == EVENTS_MAX)
        fail("the world itself makes too many events");
    for (; i > 0 && is_before(&event, &heap[(i - 1) / 2]); i = (i - 1) / 2)
        heap[i] = heap[(i - 1) / 2];
    heap[i] = event;
}

static struct event take_first(void)
{
    struct event first = heap[0], last = heap[--events];
    int i = 0;
    for (int child; (child = 2 * i + 1) < events; i = child) {
        if (child + 1 < events && is_before(&heap[child + 1], &heap[child]))
            child++;
        if (!is_before(&heap[child], &last))
            break;
        heap[i] = heap[child];
    }
    heap[i] = last;
    return first;
}

/* Runs what is due at sim.now_us. */
static void run_due(void)
{
    while (events > 0 && heap[0].at_us <= sim.now_us) {
        struct event event = take_first();
        if (event.of == NULL || event.of->serial == event.serial)
            event.run(event.of, event.argument);
    }
}

void time_signal(int number)
{
    if (sim.over)
        return;
    trace("signal    %s", strsignal(number));
    sim.interrupted = true;
    if (number == SIGTERM && sim.stop_us == 0)
        sim.stop_us = sim.now_us;
    if (handlers[number] != NULL)
        handlers[number](number);
}

static void stop(struct socket *of, int64_t argument)
{
    (void)of;
    (void)argument;
    if (sim.stop_us == 0)
        time_signal(SIGTERM);
}

static void plan_stop(int64_t at_us)
{
    if (!sim.stop_planned)
        time_at(at_us, stop, NULL, 0);
    sim.stop_planned = true;
}

void time_call(void)
{
    if (++sim.calls > CALLS_MAX)
        fail("the server makes %d calls and does not end", CALLS_MAX);
    if (sim.plan.call_cost_us > 0)
        sim.now_us += chance_below((int)sim.plan.call_cost_us);
    run_due();
    if (sim.calls == (unsigned)sim.plan.stop_at_call)
        plan_stop(sim.now_us);
    if (sim.clients_left == 0)
        plan_stop(sim.now_us + chance_below(100) * MS);
    /* A client that goes on reading, however slowly, is served to the end. */
    if (sim.now_us > 24 * 3600 * (int64_t)SECOND)
        fail("a day has passed and the world does not end");
    run_due();
}

int time_wait(bool (*done)(const void *data), const void *data,
              int64_t timeout_us)
{
    int64_t end = timeout_us < 0 ? INT64_MAX : sim.now_us + timeout_us;
    sim.started = true;
    sim.interrupted = false;
    for (;;) {
        run_due();
        if (done(data))
            return 1;
        if (sim.interrupted) {
            errno = EINTR;
            return -1;
        }
        if (sim.clients_left == 0)
            plan_stop(sim.now_us + chance_below(100) * MS);
        if (events == 0 && end == INT64_MAX)
            fail("the server sleeps for ever, and %d clients wait, client %d "
                 "among them", sim.clients_left, client_waiting());
        int64_t next = events == 0 || heap[0].at_us > end ? end : heap[0].at_us;
        if (next > sim.now_us)
            rules_sleeps();
        sim.now_us = next;
        if (next == end && (events == 0 || heap[0].at_us > end))
            return 0;
    }
}

void time_drain(void)
{
    sim.over = true;
    while (events > 0 && sim.clients_left > 0) {
        if (heap[0].at_us > sim.now_us)
            sim.now_us = heap[0].at_us;
        run_due();
    }
}

/* ----------------------------------------------------------- the real calls */

int __wrap_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_sigaction(int number, const struct sigaction *new,
                     struct sigaction *old);
void (*__wrap_signal(int number, void (*handler)(int)))(int);
unsigned __wrap_alarm(unsigned seconds);

enum { TICK_US = 4 * MS }; /* of the COARSE clocks */
enum { NOW = 784111777 };  /* Sun, 06 Nov 1994 08:49:37 GMT */

int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
    int64_t us = sim.now_us;
    if (clock == CLOCK_MONOTONIC_COARSE || clock == CLOCK_REALTIME_COARSE)
        us -= us % TICK_US;
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)
        us += (int64_t)NOW * SECOND;
    else
        us += 1000 * (int64_t)SECOND; /* the machine has been up for a while */
    *t = (struct timespec){us / SECOND, us % SECOND * 1000};
    return 0;
}

int __wrap_sigaction(int number, const struct sigaction *new,
                     struct sigaction *old)
{
    (void)old;
    handlers[number] = new->sa_handler;
    return 0;
}

void (*__wrap_signal(int number, void (*handler)(int)))(int)
{
    (void)number;
    return handler;
}

static void remind(struct socket *of, int64_t argument)
{
    (void)of;
    if (argument == alarm_us && !sim.over)
        time_signal(SIGALRM);
}

unsigned __wrap_alarm(unsigned seconds)
{
    alarm_us = sim.now_us + (int64_t)seconds * SECOND;
    time_at(alarm_us, remind, NULL, alarm_us);
    return 0;
}

int __real_clock_gettime(clockid_t clock, struct timespec *t);

void clock_gettime_real(struct timespec *t)
{
    __real_clock_gettime(CLOCK_MONOTONIC, t);
}
