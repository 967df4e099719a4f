/*
 * rules - what must hold in every world; see sim.h.
 *
 * A rule says what a user of the server relies on, in terms of the simulated
 * kernel: it looks into the server's own variables only to compare them with
 * what the kernel knows.
 */
#include "sim.h"

#include <string.h>

/* How late the parent may be: a tick of 100 ms, some calls. */
enum { LATE_MS = 300 };

static bool is_stopping(void)
{
    return sim.stop_at != NEVER;
}

/* By the server's own count, which its children and threads go by. */
static int room(void)
{
    return atomic_load(&sim.server->shared->room);
}

/* Time that has passed since then, without what other processes took. */
static int64_t since(int64_t then, int64_t stolen)
{
    return sim.now - then - (sim.stolen - stolen);
}

/* ---------------------------------------------------------- after each call */

static void stops_in_time(void)
{
    int64_t limit = sim.plan.drain_ms + 1000 + LATE_MS;
    if (is_stopping() && since(sim.stop_at, sim.stop_stolen) > limit * MS)
        sim_fail("still runs %d ms after SIGTERM; the drain timeout is %d ms",
                 (int)((sim.now - sim.stop_at) / MS), (int)sim.plan.drain_ms);
}

static void notes_are_read(void)
{
    static const int notes[] = {SIGUSR1, SIGHUP};
    for (int i = 0; i < 2; i++)
        if (sim.note_since[notes[i]] != 0 &&
            since(sim.note_since[notes[i]], sim.note_stolen[notes[i]]) >
                (1000 + LATE_MS) * MS)
            sim_fail("%s was handled more than a second ago, and nothing was "
                     "done", signal_name(notes[i]));
}

static void orphans_are_reaped(void)
{
    if (sim.orphans > 0 && !is_stopping() &&
        since(sim.orphan_since, sim.orphan_stolen) > LATE_MS * MS)
        sim_fail("an orphan that process 1 has inherited stays a zombie");
}

static bool is_missing(int number)
{
    for (int i = 0; i < sim.child_count; i++)
        if (sim.children[i].number == number &&
            sim.children[i].state != CHILD_REAPED)
            return false;
    return true;
}

static void workers_are_replaced(void)
{
    for (int i = 0; i < sim.plan.limit; i++)
        if (is_missing(i) &&
            since(sim.worker[i].wanted, sim.worker[i].stolen) > LATE_MS * MS)
            sim_fail("worker %d is missing, and should have been started "
                     "%d ms ago", i,
                     (int)((sim.now - sim.worker[i].wanted) / MS));
}

static bool is_worker(const struct blocking_worker *worker)
{
    for (int i = 0; i < sim.blocking_count; i++)
        if (sim.blocking[i] == worker)
            return true;
    return false;
}

/* Stores the free slots, each of which must be there once and unused. */
static int check_free_slots(const struct blocking_worker **slots)
{
    int n = sim.subject->free_slots(slots, LIMIT_MAX + 1);
    for (int i = 0; i < n; i++) {
        if (!is_worker(slots[i]))
            sim_fail("the stack holds something that is no slot");
        if (thread_serves(slots[i]))
            sim_fail("a slot is in the stack while a thread serves with it");
        for (int j = 0; j < i; j++)
            if (slots[i] == slots[j])
                sim_fail("a slot is in the stack twice");
    }
    return n;
}

void rules_after_step(void)
{
    const struct blocking_worker *slots[LIMIT_MAX + 1];
    if (sim.server == NULL)
        return;
    stops_in_time();
    if (!sim.in_child) /* its copies of them are dropped */
        notes_are_read();
    orphans_are_reaped();
    if (sim.workers != NULL && !sim.in_child && !is_stopping())
        workers_are_replaced();
    if (sim.subject->free_slots != NULL && !thread_holds_mutex() &&
        sim.blocking_count == sim.plan.limit)
        check_free_slots(slots);
}

/* ------------------------------------- before the main thread goes to sleep */

static void child_is_prepared(void)
{
    sigset_t set;
    signals_set(&set);
    for (int i = 1; i < 32; i++)
        if (sigismember(&set, i) == 1 &&
            !(sim.blocked & (uint64_t)1 << (i - 1)))
            sim_fail("a child waits, and %s is not blocked", signal_name(i));
    if (!sim.wants_death_signal)
        sim_fail("a child would outlive its parent");
    if (!sim.asked_for_parent || sim.parent_dead)
        sim_fail("a child serves, and its parent had died before it asked for "
                 "its signal");
}

/* In wait_for_workers_to_end() zombies may stay: the parent follows them. */
static void no_zombies(void)
{
    int zombies = sim.unreaped - sim.running;
    if (zombies > 0 && !(sim.subject->pool && is_stopping()))
        sim_fail("sleeps while %d of its children are zombies", zombies);
}

static void forking_may_wait(enum waiting why)
{
    no_zombies();
    /* A parent that serves a client itself accepts no other. */
    int more = why == WAIT_SERVING ? sim.plan.limit + 1 : 0;
    if (room() != sim.plan.limit - sim.unreaped - more)
        sim_fail("the parent says room for %d, and %d children run", room(),
                 sim.unreaped);
    if (why == WAIT_ACCEPT && sim.running >= sim.plan.limit)
        sim_fail("accepts a client at the limit of %d children",
                 sim.plan.limit);
    if (why == WAIT_SIGNAL && !is_stopping() &&
        sim.running < sim.plan.limit)
        sim_fail("sleeps although only %d of %d children run", sim.running,
                 sim.plan.limit);
    if (why == WAIT_SIGNAL && is_stopping() && sim.running == 0)
        sim_fail("sleeps although its last child has ended");
}

static void pool_may_wait(enum waiting why, int64_t until)
{
    no_zombies();
    if (why != WAIT_SIGNAL)
        sim_fail("the parent of a pool waits for something else than signals");
    if (is_stopping() && sim.unreaped == 0)
        sim_fail("sleeps although its last worker has ended");
    for (int i = 0; i < sim.plan.limit && !is_stopping(); i++) {
        if (!is_missing(i))
            continue;
        if (until == NEVER)
            sim_fail("sleeps without a limit although worker %d is dead", i);
        if (atomic_load(&sim.server->shared->slots[i].idle))
            sim_fail("worker %d is dead, and counts as idle", i);
    }
}

static void slots_are_all_there(enum waiting why)
{
    const struct blocking_worker *slots[LIMIT_MAX + 1];
    int in_hand = why != WAIT_SEMAPHORE; /* the main thread's own */
    int n = check_free_slots(slots), used = 0;
    for (int i = 1; i < THREADS_MAX; i++) {
        const struct blocking_worker *slot = thread_slot(i);
        used += slot != NULL;
    }
    if (n + used + in_hand != sim.plan.limit)
        sim_fail("of %d slots %d are free and %d are used", sim.plan.limit, n,
                 used + in_hand);
    if (why == WAIT_SEMAPHORE && n > thread_posts())
        sim_fail("waits for a slot although %d are free", n);
}

/* A thread gives its room back after it has served, and before its slot. */
static void room_is_told(int being_made)
{
    int serving = 0, used = 0;
    for (int i = 1; i < THREADS_MAX; i++) {
        const struct blocking_worker *slot = thread_slot(i);
        used += slot != NULL;
        serving += slot != NULL && thread_serves(slot);
    }
    int told = sim.plan.limit - room() - being_made;
    if (told < serving || told > used)
        sim_fail("says room for %d of %d; %d threads run, %d of them serve",
                 room(), sim.plan.limit, used, serving);
}

static void threaded_may_wait(enum waiting why)
{
    if (why == WAIT_MUTEX)
        return;
    if (!is_stopping() && !thread_holds_mutex())
        slots_are_all_there(why);
    if (why == WAIT_SERVING && room() > 0)
        sim_fail("says room for %d while the main thread serves", room());
    if (why == WAIT_ACCEPT || why == WAIT_SEMAPHORE)
        room_is_told(0);
}

void rules_before_wait(enum waiting why, int64_t until)
{
    if (sim.in_handler > 0)
        sim_fail("a signal handler waits");
    if (sim.in_child)
        child_is_prepared();
    else if (sim.subject->pool)
        pool_may_wait(why, until);
    else if (sim.subject->free_slots == NULL)
        forking_may_wait(why);
    else
        threaded_may_wait(why);
}

/* --------------------------------------- before a child or a thread is made */

static void pool_may_fork(void)
{
    if (sim.number < 0 || sim.number >= sim.plan.limit ||
        !is_missing(sim.number))
        sim_fail("starts worker %d, which runs", sim.number);
    if (is_stopping())
        sim_fail("starts worker %d although the server is stopping",
                 sim.number);
    int64_t started = sim.worker[sim.number].started;
    if (started != 0 && sim.now - started < SECOND - 2 * MS)
        sim_fail("starts worker %d again after %d ms", sim.number,
                 (int)((sim.now - started) / MS));
}

static void forking_may_fork(void)
{
    if (room() != sim.plan.limit - sim.unreaped - 1)
        sim_fail("a child would read room for %d, and %d others run", room(),
                 sim.unreaped);
    if (sim.blocking[0]->redis.context != NULL)
        sim_fail("forks while it has a connection to Redis, which the child "
                 "would use, too");
    if (sim.files_open)
        sim_fail("forks while it keeps files open, which each child would "
                 "inherit");
}

void rules_before_fork(void)
{
    if (sim.in_child)
        sim_fail("a child forks");
    if (sim.subject->pool)
        pool_may_fork();
    else if (sim.subject->free_slots == NULL)
        forking_may_fork();
    else
        room_is_told(1);
}

/* --------------------------------------------------------------- at the end */

static void status_is_right(void)
{
    bool excused = sim.second_stop || sim.memory_failed ||
                   (sim.in_child && sim.parent_dead);
    if (sim.status != 0 && !excused)
        sim_fail("ends with status %d", sim.status);
    if (!is_stopping() && !excused && !(sim.in_child && !sim.subject->pool))
        sim_fail("ends without SIGTERM");
    if (sim.in_child && sim.finished && !sim.subject->pool)
        sim_fail("a child returns from main(): it would write what stdio "
                 "holds, too");
}

static void nothing_is_left(void)
{
    for (int fd = 0; fd < sim.next_fd; fd++)
        if (sim.fds[fd].accepted && sim.fds[fd].closed != 1)
            sim_fail("descriptor %d was closed %d times", fd,
                     sim.fds[fd].closed);
    if (sim.blocking_freed != sim.blocking_count && sim.finished)
        sim_fail("%d workers were made, and %d freed", sim.blocking_count,
                 sim.blocking_freed);
    if (sim.allocated > 0 && !sim.subject->pool && !sim.in_child)
        sim_fail("memory is not freed");
}

static void children_had_their_time(void)
{
    int64_t limit = sim.plan.drain_ms + 1000;
    /* A parent that got no processor for seconds is ended by SIGALRM
     * (signals.c); process 1 then reaps for it. */
    bool by_alarm = sim.now - sim.stop_at >= (limit + 2000) * MS;
    if (sim.unreaped > sim.running && !by_alarm)
        sim_fail("ends, and %d of its children are zombies",
                 sim.unreaped - sim.running);
    if (sim.running > 0 && sim.now - sim.stop_at < (limit - 2) * MS)
        sim_fail("ends %d ms after SIGTERM while %d children serve",
                 (int)((sim.now - sim.stop_at) / MS), sim.running);
}

void rules_at_end(void)
{
    status_is_right();
    if (sim.status != 0)
        return;
    nothing_is_left();
    if (!sim.in_child)
        children_had_their_time();
}
