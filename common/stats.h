/*
 * stats - how much was served, and what it cost.
 *
 * The counters are in memory that fork(2) shares, so that a parent can read
 * what its children count. Each worker has a slot of its own, one cache line
 * wide: cores that write to the same line have to pass it back and forth.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct stats_slot {
    _Alignas(64) _Atomic uint64_t requests;
    _Atomic uint64_t connections;
    atomic_bool idle; /* its worker waits in accept (serve_blocking.c) */
};

static inline void stats_add(_Atomic uint64_t *counter, uint64_t n)
{
    atomic_fetch_add_explicit(counter, n, memory_order_relaxed); /* no order */
}

/* Prints, in one write, "served R requests on C connections; CPU U s user, S s
 * system": the sum of the n slots, and the CPU time of this process and of its
 * children, to a hundredth of a second. Waits for no reader (output.h). */
void stats_report(const struct stats_slot *slots, unsigned n);
