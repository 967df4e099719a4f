/* accept_turn - which workers of a pool are in accept(2); see accept_turn.h. */
#include "accept_turn.h"

#include <errno.h>
#include <sched.h>
#include <time.h>

#include "net.h"

/* After so long a worker looks whether clients wait although the turn does not
 * come. In an idle pool of a hundred that is a hundred looks a second, about a
 * thousandth of a core. */
enum { PATIENCE_S = 1 };

static unsigned cores(void)
{
    cpu_set_t set;
    /* More cores than fit into the set: the call fails, and there are plenty. */
    int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set)
                                                            : ACCEPT_TURNS_MAX;
    return count < ACCEPT_TURNS_MAX ? (unsigned)count : ACCEPT_TURNS_MAX;
}

void accept_turns_init(struct accept_turns *turns)
{
    pthread_mutexattr_t attributes;
    if (pthread_mutexattr_init(&attributes) != 0)
        return;
    unsigned wanted =
        pthread_mutexattr_setpshared(&attributes,
                                     PTHREAD_PROCESS_SHARED) == 0 &&
                pthread_mutexattr_setrobust(&attributes,
                                            PTHREAD_MUTEX_ROBUST) == 0
            ? cores()
            : 0;
    while (turns->count < wanted &&
           pthread_mutex_init(&turns->locks[turns->count].mutex,
                              &attributes) == 0)
        turns->count++;
    pthread_mutexattr_destroy(&attributes);
}

void accept_turn_init(struct accept_turn *turn, struct accept_turns *turns,
                      unsigned number)
{
    *turn = (struct accept_turn){0};
    if (turns->count > 0)
        turn->lock = &turns->locks[number % turns->count];
}

/* Returns ETIMEDOUT after a second, or what pthread_mutex_lock(3) returns. */
static int lock_for_a_while(pthread_mutex_t *mutex)
{
    int error = pthread_mutex_trylock(mutex);
    if (error != EBUSY)
        return error;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until); /* the clock of this call */
    until.tv_sec += PATIENCE_S;
    return pthread_mutex_timedlock(mutex, &until);
}

void accept_turn_take(struct accept_turn *turn, int listener)
{
    if (turn->taken || turn->lock == NULL)
        return;
    int error;
    do
        error = lock_for_a_while(&turn->lock->mutex);
    while (error == ETIMEDOUT && !net_somebody_waits(listener));
    /* Its owner was killed. There is nothing that could be half done: who is
     * next takes it as it is. */
    if (error == EOWNERDEAD)
        pthread_mutex_consistent(&turn->lock->mutex);
    turn->taken = error == 0 || error == EOWNERDEAD;
}

/* Only who has the turn writes to it. */
static void set_distrust(const struct accept_turn *turn, unsigned distrust)
{
    atomic_store_explicit(&turn->lock->distrust, distrust,
                          memory_order_relaxed);
}

static unsigned get_distrust(const struct accept_turn *turn)
{
    return turn->taken ? atomic_load_explicit(&turn->lock->distrust,
                                              memory_order_relaxed)
                       : 0;
}

bool accept_turn_trusts(const struct accept_turn *turn)
{
    unsigned distrust = get_distrust(turn);
    if (distrust > 0)
        set_distrust(turn, distrust - 1);
    return turn->taken && distrust == 0;
}

void accept_turn_met_silence(const struct accept_turn *turn)
{
    set_distrust(turn, ACCEPT_TURN_DISTRUST);
}

void accept_turn_met_speech(const struct accept_turn *turn)
{
    unsigned distrust = get_distrust(turn);
    if (distrust > 0)
        set_distrust(turn, distrust / 2);
}
