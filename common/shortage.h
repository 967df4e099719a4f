/*
 * shortage - errors that say what this process or the system lacks, and
 * nothing about the file or the server that was asked for.
 */
#pragma once

#include <errno.h>
#include <stdbool.h>

/* Has a system call failed because descriptors of the process (EMFILE) or of
 * the system (ENFILE) or memory (ENOMEM) ran out? A second attempt helps
 * where something that was kept for later can go first. */
static inline bool is_shortage(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOMEM;
}
