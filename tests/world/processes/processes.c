/* processes - fork, waitpid and exit of the simulated kernel; see sim.h. */
#include "sim.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

pid_t parent_pid(void)
{
    return sim.plan.orphans > 0 ? 1 : PARENT_PID;
}

/* Those with which the kernel ends it, and those of exit(). */
static int some_status(void)
{
    static const int statuses[] = {0, 0, 1 << 8, 139 << 8, SIGSEGV, SIGKILL,
                                   SIGABRT | 0x80};
    return statuses[sim_below(sizeof statuses / sizeof statuses[0])];
}

static void reap(struct child *child)
{
    child->state = CHILD_REAPED;
    sim.unreaped--;
    sim_progress();
    if (child->number >= 0) {
        int64_t due = sim.worker[child->number].started + SECOND;
        sim.worker[child->number].wanted =
            child->ended_at > due ? child->ended_at : due;
        sim.worker[child->number].stolen = child->ended_stolen;
    }
}

/* With SIG_IGN for SIGCHLD the kernel keeps no zombies (waitpid(2), NOTES). */
static bool kernel_reaps(void)
{
    return sim.actions[SIGCHLD].sa_handler == SIG_IGN;
}

void orphan_end(void)
{
    say("an orphan ends, whose parent is process 1 now");
    if (kernel_reaps())
        return;
    if (sim.orphans++ == 0) {
        sim.orphan_since = sim.now;
        sim.orphan_stolen = sim.stolen;
    }
    signal_post(SIGCHLD);
}

void child_end(int index)
{
    struct child *child = &sim.children[index];
    if (child->state != CHILD_RUNS)
        return; /* it was killed before */
    child->state = CHILD_ZOMBIE;
    child->status = some_status();
    child->ended_at = sim.now;
    child->ended_stolen = sim.stolen;
    sim.running--;
    say("child %d ends: status 0x%x", (int)child->pid, child->status);
    if (kernel_reaps())
        reap(child);
    else
        signal_post(SIGCHLD);
}

void children_hear_stop(void)
{
    for (int i = 0; i < sim.child_count; i++)
        if (sim.children[i].state == CHILD_RUNS && !sim.children[i].stuck)
            sim_at(sim.now + sim_below(sim.plan.drain_ms * MS + 300 * MS),
                   EVENT_CHILD_ENDS, i);
}

/* From here on this world is the child's, and what other children do is no
 * concern of it. Signals that were pending were the parent's. */
static void become_child(void)
{
    say("fork() = 0: this world becomes the child's");
    sim.in_child = true;
    sim.child_number = sim.number;
    sim.running = sim.unreaped = sim.child_count = 0;
    if (signal_is_pending(SIGTERM) || signal_is_pending(SIGINT)) /* soon */
        sim_at(sim.now + sim_below(50 * MS), EVENT_SIGNAL, SIGTERM);
    sim.pending = 0;
    sim.orphans = 0;
    memset(sim.note_since, 0, sizeof sim.note_since);
    for (int i = 0; i < sim.event_count; i++)
        if (sim.events[i].kind == EVENT_ALARM ||
            sim.events[i].kind == EVENT_ORPHAN_ENDS ||
            sim.events[i].kind == EVENT_CHILD_ENDS)
            sim.events[i--] = sim.events[--sim.event_count];
}

static int64_t life(const struct child *child)
{
    int64_t most = child->number < 0 ? sim.plan.serve_us : sim.plan.crash_us;
    return child->stuck || most == 0 ? NEVER : sim_below(most);
}

static pid_t new_child(void)
{
    int i = sim.child_count++;
    struct child *child = &sim.children[i];
    bool restart;
    if (sim.child_count == CHILDREN_MAX)
        sim_fail("the world is too small: %d children", CHILDREN_MAX);
    *child = (struct child){.pid = PARENT_PID + sim.forks,
                            .number = sim.number,
                            .stuck = sim_percent(sim.plan.stuck)};
    sim.running++;
    sim.unreaped++;
    if (sim.running > sim.plan.limit)
        sim_fail("%d children run, and the limit is %d", sim.running,
                 sim.plan.limit);
    int64_t lives = life(child);
    if (lives != NEVER)
        sim_at(sim.now + lives, EVENT_CHILD_ENDS, i);
    if (sim.number >= 0) /* a worker says that it waits in accept */
        atomic_store(&sim.server->shared->slots[sim.number].idle,
                     sim_percent(50));
    say("fork() = %d", (int)child->pid);
    sim_progress();
    sim.now += sim_below(300); /* it may have ended when fork() returns */
    sim_events();
    signal_deliver(&restart);
    return child->pid;
}

pid_t __wrap_fork(void)
{
    rules_before_fork();
    sim_step("fork");
    if (sim.number >= 0) {
        sim.worker[sim.number].started = sim.now;
        sim.worker[sim.number].wanted = sim.now + SECOND; /* if it fails */
        sim.worker[sim.number].stolen = sim.stolen;
    }
    if (sim_percent(sim.plan.fork_fails)) {
        errno = sim_percent(50) ? EAGAIN : ENOMEM;
        say("fork() fails: %s", strerror(errno));
        return -1;
    }
    if (++sim.forks != sim.plan.child_at)
        return new_child();
    become_child();
    return 0;
}

/* Finds a child to reap: this one, or any of its own. */
static struct child *find(pid_t pid)
{
    int zombies = 0;
    for (int i = 0; i < sim.child_count; i++) {
        struct child *child = &sim.children[i];
        if (pid > 0 && child->pid == pid) {
            if (child->state == CHILD_REAPED)
                sim_fail("waits for child %d a second time", (int)pid);
            return child;
        }
        zombies += child->state == CHILD_ZOMBIE;
    }
    int64_t which = sim_below(zombies);
    for (int i = 0; pid <= 0 && zombies > 0 && i < sim.child_count; i++)
        if (sim.children[i].state == CHILD_ZOMBIE && which-- == 0)
            return &sim.children[i];
    if (pid > 0)
        sim_fail("waits for %d, which is no child", (int)pid);
    return NULL;
}

static bool is_orphan(pid_t pid)
{
    return pid >= ORPHAN_PID && pid < PARENT_PID;
}

static pid_t reap_orphan(void)
{
    pid_t pid = ORPHAN_PID + --sim.orphans;
    say("waitpid(%d) reaps an orphan", (int)pid);
    sim_progress();
    return pid;
}

/* An orphan or a child, whichever the kernel finds first. */
static bool orphan_is_first(pid_t pid)
{
    int zombies = sim.unreaped - sim.running + sim.orphans;
    return sim.orphans > 0 &&
           (is_orphan(pid) || (pid == -1 && sim_below(zombies) < sim.orphans));
}

pid_t __wrap_waitpid(pid_t pid, int *status, int options)
{
    sim_step("waitpid");
    if (sim.in_child && sim.in_handler == 0)
        sim_fail("a child waits for children");
    if (!(options & WNOHANG))
        sim_fail("waitpid() without WNOHANG: signals are not heard");
    if (orphan_is_first(pid))
        return reap_orphan();
    struct child *child = find(pid);
    if (child == NULL && sim.unreaped == 0) {
        errno = ECHILD;
        return -1;
    }
    if (child == NULL || child->state == CHILD_RUNS)
        return 0;
    reap(child);
    if (status != NULL)
        *status = child->status;
    say("waitpid(%d) = %d, status 0x%x", (int)pid, (int)child->pid,
        child->status);
    return child->pid;
}

/* Only for a look at who has ended. */
int __wrap_waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
    sim_step("waitid");
    if (type != P_ALL || id != 0 || options != (WEXITED | WNOHANG | WNOWAIT))
        sim_fail("waitid() other than for a look");
    struct child *child = NULL;
    info->si_pid = 0;
    if (orphan_is_first(-1))
        info->si_pid = ORPHAN_PID + sim.orphans - 1;
    else if ((child = find(-1)) != NULL)
        info->si_pid = child->pid;
    errno = ECHILD;
    return info->si_pid == 0 && sim.unreaped + sim.orphans == 0 ? -1 : 0;
}

pid_t __wrap_getpgrp(void)
{
    return parent_pid();
}

pid_t __wrap_getpgid(pid_t pid)
{
    return is_orphan(pid) ? pid : parent_pid();
}

int __wrap_kill(pid_t pid, int number)
{
    sim_step("kill");
    for (int i = 0; i < sim.child_count; i++)
        if (sim.children[i].pid == pid && sim.children[i].state == CHILD_RUNS &&
            (number == SIGKILL || !sim.children[i].stuck))
            sim_at(sim.now + sim_below(10 * MS), EVENT_CHILD_ENDS, i);
    return 0;
}

int __wrap_prctl(int option, unsigned long value)
{
    if (sim.in_child && sim.plan.parent_dies)
        sim.parent_dead = true;
    if (option == PR_SET_PDEATHSIG && value == SIGKILL)
        sim.wants_death_signal = true;
    sim_step("prctl");
    return 0;
}

pid_t __wrap_getppid(void)
{
    sim_step("getppid");
    sim.asked_for_parent = sim.wants_death_signal;
    return sim.parent_dead ? 1 : parent_pid();
}

pid_t __wrap_getpid(void)
{
    return sim.in_child ? PARENT_PID + sim.forks : parent_pid();
}

void __wrap__exit(int status)
{
    sim_exit(status);
}

void __wrap_exit(int status)
{
    if (sim.in_child)
        sim_fail("a child calls exit(), which would write what stdio holds");
    sim_exit(status);
}
