/* threads - coroutines, and the waits of all of them; see sim.h. */
#include "sim.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

enum { STACK_SIZE = 128 * 1024, LOCKS_MAX = 4 };

struct thread {
    enum { UNUSED, READY, WAITING } state;
    bool begun;              /* it has a stack, and waits there */
    jmp_buf at;
    void *(*run)(void *);
    void *argument;
    const struct blocking_worker *serves; /* in serve_blocking() with it */
    bool released, posted;   /* its slot: is in the stack, was counted */
    is_ready *ready;         /* while WAITING */
    void *data;
    int64_t until;
    int mutexes;
};

static struct thread threads[THREADS_MAX]; /* 0: the main one */
static char stacks[THREADS_MAX][STACK_SIZE];
static int current;

static struct { const void *address; int value; } locks[LOCKS_MAX];

bool thread_is_main(void)
{
    return current == 0;
}

const char *thread_name(void)
{
    static char name[16];
    if (current == 0)
        if (current == 0)
        return sim.subject->children ? "parent" : "main";
    snprintf(name, sizeof name, "thread %d", current);
    return name;
}

void thread_begin_world(void)
{
    for (int i = 0; i < THREADS_MAX; i++) {
        /* One that waits for something to run keeps its stack. */
        bool begun = threads[i].begun && threads[i].state == UNUSED;
        jmp_buf at;
        memcpy(at, threads[i].at, sizeof at);
        threads[i] = (struct thread){.begun = begun};
        memcpy(threads[i].at, at, sizeof at);
    }
    threads[0].state = READY;
    threads[0].begun = true;
    current = 0;
    memset(locks, 0, sizeof locks);
}

/* --------------------------------------------------------------- scheduling */

static bool can_run(const struct thread *t)
{
    return t->state == READY ||
           (t->state == WAITING &&
            (sim.now >= t->until || (t->ready != NULL && t->ready(t->data)) ||
             (t == threads && signal_waits())));
}

static int pick(void)
{
    int able[THREADS_MAX], n = 0;
    for (int i = 0; i < THREADS_MAX; i++)
        if (can_run(&threads[i]))
            able[n++] = i;
    return n == 0 ? -1 : able[sim_below(n)];
}

static void body(void);

static void switch_to(int next)
{
    int last = current;
    ucontext_t start;
    threads[next].state = READY;
    if (next == last)
        return;
    current = next;
    if (setjmp(threads[last].at) != 0)
        return;
    if (threads[next].begun)
        longjmp(threads[next].at, 1);
    threads[next].begun = true;
    getcontext(&start);
    start.uc_stack.ss_sp = stacks[next];
    start.uc_stack.ss_size = STACK_SIZE;
    start.uc_link = NULL;
    makecontext(&start, body, 0);
    setcontext(&start);
}

/* Runs one thread that can run, if need be after the time that this takes. */
static void schedule(void)
{
    int next;
    while ((next = pick()) < 0) {
        int64_t at = sim_next_event();
        for (int i = 0; i < THREADS_MAX; i++)
            if (threads[i].state == WAITING && threads[i].until < at)
                at = threads[i].until;
        if (at == NEVER)
            sim_fail("sleeps for ever");
        if (at > sim.now + MS)
            sim_progress();
        if (at > sim.now)
            sim.now = at;
        sim_events();
    }
    switch_to(next);
}

/* A stack outlives its thread, as glibc's do. */
static void body(void)
{
    for (;;) {
        struct thread *t = &threads[current];
        t->run(t->argument);
        if (t->mutexes > 0)
            sim_fail("a thread ends while it holds a mutex");
        say("the thread ends");
        t->state = UNUSED;
        t->argument = NULL;
        schedule();
    }
}

void thread_switch(void)
{
    if (sim.subject == &threaded && sim_percent(30)) {
        int next = pick(); /* at least this one can run */
        switch_to(next);
    }
}

enum woken thread_wait(enum waiting why, is_ready *ready, void *data,
                       int64_t until, bool by_signal, bool always)
{
    struct thread *t = &threads[current];
    bool restart;
    if (current == 0 && by_signal && sim_per_mille(sim.plan.interrupts))
        return WOKEN_SIGNAL;
    for (;;) {
        int ran = current == 0 ? signal_deliver(&restart) : 0;
        if (ran > 0 && by_signal && (always || !restart))
            return WOKEN_SIGNAL;
        if (ready != NULL && ready(data))
            return WOKEN_READY;
        if (sim.now >= until)
            return WOKEN_TIMEOUT;
        if (current == 0)
            rules_before_wait(why, until);
        if (t->mutexes > 0)
            sim_fail("waits while it holds a mutex");
        t->ready = ready;
        t->data = data;
        t->until = until;
        t->state = WAITING;
        schedule();
    }
}

/* ------------------------------------------------------- what the rules ask */

const struct blocking_worker *thread_slot(int i)
{
    const struct thread *t = &threads[i];
    return i > 0 && t->state != UNUSED && !t->released ? t->argument : NULL;
}

bool thread_serves(const struct blocking_worker *worker)
{
    for (int i = 0; i < THREADS_MAX; i++)
        if (threads[i].state != UNUSED && threads[i].serves == worker)
            return true;
    return false;
}

void thread_note(const struct blocking_worker *worker)
{
    threads[current].serves = worker;
}

int thread_posts(void)
{
    int n = 0;
    for (int i = 1; i < THREADS_MAX; i++)
        n += threads[i].state != UNUSED && threads[i].released &&
             !threads[i].posted;
    return n;
}

bool thread_holds_mutex(void)
{
    for (int i = 0; i < THREADS_MAX; i++)
        if (threads[i].mutexes > 0)
            return true;
    return false;
}

/* ----------------------------------------------------------------- pthreads */

static void check_attributes(const pthread_attr_t *attributes)
{
    sigset_t set, needed;
    int detached = PTHREAD_CREATE_JOINABLE;
    signals_set(&needed);
    if (attributes == NULL ||
        pthread_attr_getsigmask_np(attributes, &set) != 0)
        sim_fail("a thread would take the main thread's signals");
    for (int i = 1; i < 32; i++)
        if (sigismember(&needed, i) == 1 && sigismember(&set, i) != 1)
            sim_fail("a thread would take %s from the main thread",
                     signal_name(i));
    pthread_attr_getdetachstate(attributes, &detached);
    if (detached != PTHREAD_CREATE_DETACHED)
        sim_fail("a thread is joinable, and nobody joins it");
}

int __wrap_pthread_create(pthread_t *id, const pthread_attr_t *attributes,
                          void *(*run)(void *), void *argument)
{
    int i = 1;
    rules_before_fork();
    check_attributes(attributes);
    sim_step("pthread_create");
    if (sim_percent(sim.plan.fork_fails)) {
        say("pthread_create() = EAGAIN");
        return EAGAIN;
    }
    while (threads[i].state != UNUSED)
        if (++i == THREADS_MAX)
            sim_fail("%d threads run, and the limit is %d", i, sim.plan.limit);
    bool begun = threads[i].begun;
    threads[i].state = READY;
    threads[i].run = run;
    threads[i].argument = argument;
    threads[i].released = threads[i].posted = false;
    threads[i].begun = begun;
    *id = (pthread_t)i;
    say("pthread_create() makes thread %d", i);
    sim_progress();
    sim_step("pthread_create"); /* it may run, and end, before this returns */
    return 0;
}

static int *lock_of(const void *address)
{
    for (int i = 0; i < LOCKS_MAX; i++)
        if (locks[i].address == address || locks[i].address == NULL) {
            locks[i].address = address;
            return &locks[i].value;
        }
    sim_fail("the world is too small: more than %d locks", LOCKS_MAX);
}

static bool is_free(void *value)
{
    return *(int *)value == 0;
}

static bool is_positive(void *value)
{
    return *(int *)value > 0;
}

/* The value of a mutex: 0, or 1 + the thread that holds it. */
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
    int *value = lock_of(mutex);
    sim_step("pthread_mutex_lock");
    if (sim.in_handler > 0)
        sim_fail("a signal handler locks a mutex");
    if (*value == 1 + current)
        sim_fail("locks a mutex that it holds");
    while (*value != 0)
        thread_wait(WAIT_MUTEX, is_free, value, NEVER, false, false);
    *value = 1 + current;
    threads[current].mutexes++;
    return 0;
}

static bool slot_is_free(const struct blocking_worker *slot)
{
    const struct blocking_worker *slots[LIMIT_MAX + 1];
    int n = sim.subject->free_slots(slots, LIMIT_MAX + 1);
    while (n > 0)
        if (slots[--n] == slot)
            return true;
    return false;
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    int *value = lock_of(mutex);
    sim_step("pthread_mutex_unlock");
    if (*value != 1 + current)
        sim_fail("unlocks a mutex that it does not hold");
    *value = 0;
    threads[current].mutexes--;
    threads[current].released |= slot_is_free(threads[current].argument);
    return 0;
}

int __wrap_sem_init(sem_t *sem, int shared, unsigned value)
{
    (void)shared;
    *lock_of(sem) = (int)value;
    return 0;
}

int __wrap_sem_wait(sem_t *sem)
{
    int *value = lock_of(sem);
    sim_step("sem_wait");
    if (thread_wait(WAIT_SEMAPHORE, is_positive, value, NEVER, true, false) ==
        WOKEN_SIGNAL) {
        errno = EINTR;
        return -1;
    }
    --*value;
    sim_progress();
    return 0;
}

int __wrap_sem_post(sem_t *sem)
{
    sim_step("sem_post");
    ++*lock_of(sem);
    threads[current].posted = true;
    sim_progress();
    return 0;
}
