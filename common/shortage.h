/*
 * shortage - errors that say what this process or the system lacks, and
 * nothing about the file or the server that a call was made for.
 */
#pragma once

#include <errno.h>
#include <stdbool.h>

/* Has a system call failed because the process (EMFILE) or the system
 * (ENFILE) ran out of descriptors, or because memory ran out (ENOMEM)? A
 * second attempt helps if something that is kept for later is freed first. */
static inline bool is_shortage(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOMEM;
}
