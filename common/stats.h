/*
 * stats - how much was served, and what it cost.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

/* Adds n. Relaxed: a counter says nothing of other memory, so the processor
 * need not put it in order with that. */
static inline void stats_add(_Atomic uint64_t *counter, uint64_t n)
{
    atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

/* Prints three lines in one write: "served R requests on C connections", the
 * CPU time of this process, and that of its children, as getrusage(2) tells
 * them. A child counts once it has ended and its parent has asked for its
 * status: the workers of 03 and 07 mostly in the last report only. Waits
 * for no reader (output.h). */
void stats_report(uint64_t requests, uint64_t connections);
