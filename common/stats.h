/*
 * stats - how much was served, and what it cost.
 *
 * The counters stand in memory that is shared over fork(2), so that children
 * count where their parent can read. Each worker has a slot of its own, a
 * cache line wide: two cores that write to one line take turns at it.
 */
#ifndef STATS_H
#define STATS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct stats_slot {
    _Alignas(64) _Atomic uint64_t requests;
    _Atomic uint64_t connections;
    atomic_bool at_leisure; /* its worker waits for a client (blocking.c) */
    atomic_uint silent;     /* so many it has put aside (accept_filter.c) */
};

static inline void stats_add(_Atomic uint64_t *counter, uint64_t n)
{
    /* Relaxed: it counts, it orders nothing. */
    atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

/* Prints to standard output, in one write:
 *   served R requests on C connections; CPU U s user, S s system
 * with the sum of the n slots, and the CPU time of this process, of the
 * children it has waited for, and of those that still run (these to a
 * hundredth of a second, from proc(5)). */
void stats_report(const struct stats_slot *slots, unsigned n);

#endif
