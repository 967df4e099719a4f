/*
 * stats - how much was served, and what it cost.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

static inline void stats_add(_Atomic uint64_t *counter, uint64_t n)
{
    atomic_fetch_add_explicit(counter, n, memory_order_relaxed); /* no order */
}

/* Prints, in one write, "served R requests on C connections; CPU U s user, S s
 * system": the CPU time is that of this process and of its children, to a
 * hundredth of a second. Waits for no reader (output.h). */
void stats_report(uint64_t requests, uint64_t connections);
