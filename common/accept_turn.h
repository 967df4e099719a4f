/*
 * accept_turn - which workers of a pool are in accept(2).
 *
 * If all of them are, the kernel wakes one for each client that comes, as soon
 * as the handshake is done. It finds no request yet, waits for it, and the next
 * client wakes the next worker: two context switches for each request, always
 * to a worker whose memory has left the processor's cache.
 *
 * So a worker takes a turn before it accepts, keeps it while it serves what
 * needs no waiting, and passes it on before it waits for anything but its next
 * client: for more of a request, for Redis, for a reader, for a disk. Only the
 * log and messages to a terminal are written with the turn in hand; where they
 * stop, all workers do.
 *
 * There are as many turns as cores, and a worker has part in one of them, so
 * that as many workers can run as there are cores. Schmidt et al. (POSA 2,
 * chapter 5) call it Leader/Followers, and I/O completion ports bound how many
 * run likewise.
 *
 * A turn guards nothing but time: who accepts without one does no harm.
 */
#ifndef ACCEPT_TURN_H
#define ACCEPT_TURN_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { ACCEPT_TURNS_MAX = 64 };

struct accept_turns { /* in memory that all workers share */
    unsigned count;
    struct accept_turn_lock {
        _Alignas(64) pthread_mutex_t mutex;
        atomic_uint distrust; /* see accept_turn_trusts() */
    } locks[ACCEPT_TURNS_MAX];
};

struct accept_turn { /* a worker's own */
    struct accept_turn_lock *lock; /* NULL: there are no turns here */
    bool taken;
};

/* Makes as many turns as there are cores that this process may run on; none
 * where the system has no mutexes that processes can share and a dead owner
 * gives back, pthread_mutexattr_setrobust(3). `turns` is all zeroes before. */
void accept_turns_init(struct accept_turns *turns);

/* Lets worker `number` have part in its turn. */
void accept_turn_init(struct accept_turn *turn, struct accept_turns *turns,
                      unsigned number);

/* Waits for the turn, and takes it; or returns without when whoever has it has
 * kept it for a second and clients wait in `listener`'s accept queue: a worker
 * that is stopped, as by a debugger, must not keep the others from them. */
void accept_turn_take(struct accept_turn *turn, int listener);

/* Passes it on, if it is this worker's. */
static inline void accept_turn_pass(struct accept_turn *turn)
{
    if (turn->taken)
        pthread_mutex_unlock(&turn->lock->mutex);
    turn->taken = false;
}

/* Is a client that is silent at first worth a moment of the turn? Not those
 * that come after one who let its moment pass: of a crowd that connects and is
 * silent, one in ACCEPT_TURN_DISTRUST gets one (asking counts). False without
 * the turn. */
enum { ACCEPT_TURN_DISTRUST = 32 };
bool accept_turn_trusts(const struct accept_turn *turn);

/* The client let its moment pass; or had spoken when it was accepted, for which
 * half of the distrust goes. */
void accept_turn_met_silence(const struct accept_turn *turn);
void accept_turn_met_speech(const struct accept_turn *turn);

#endif
