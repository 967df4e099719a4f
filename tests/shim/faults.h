/*
 * faults - which call fails, and how; see faults.c.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each fault: what shim.py calls it, and its error; 0: the call is short. */
#define FAULTS(X)                                                             \
    X(recv_short, 0) X(recv_again, EAGAIN) X(recv_interrupted, EINTR)         \
    X(recv_memory, ENOMEM)                                                    \
    X(send_short, 0) X(send_again, EAGAIN) X(send_interrupted, EINTR)         \
    X(send_memory, ENOMEM)                                                    \
    X(sendfile_short, 0) X(sendfile_again, EAGAIN)                            \
    X(sendfile_interrupted, EINTR) X(sendfile_memory, ENOMEM)                 \
    X(redis_read_short, 0) X(redis_read_again, EAGAIN)                        \
    X(redis_read_interrupted, EINTR)                                          \
    X(redis_write_short, 0) X(redis_write_again, EAGAIN)                      \
    X(redis_write_interrupted, EINTR)                                         \
    X(redis_connect_port, EADDRNOTAVAIL) X(redis_connect_interrupted, EINTR)  \
    X(redis_socket_descriptors, EMFILE) X(redis_epoll_memory, ENOMEM)         \
    X(accept_again, EAGAIN) X(accept_interrupted, EINTR)                      \
    X(accept_aborted, ECONNABORTED) X(accept_process_descriptors, EMFILE)     \
    X(accept_system_descriptors, ENFILE) X(accept_buffers, ENOBUFS)           \
    X(accept_memory, ENOMEM)                                                  \
    X(epoll_wait_interrupted, EINTR) X(poll_interrupted, EINTR)               \
    X(sem_wait_interrupted, EINTR)                                            \
    X(epoll_add_watches, ENOSPC) X(epoll_add_memory, ENOMEM)                  \
    X(fork_processes, EAGAIN) X(fork_memory, ENOMEM)                          \
    X(thread_threads, EAGAIN)                                                 \
    X(openat2_again, EAGAIN) X(openat2_process_descriptors, EMFILE)           \
    X(openat2_system_descriptors, ENFILE) X(openat2_memory, ENOMEM)           \
    X(malloc_memory, ENOMEM)

#define NAME(name, error) name,
enum fault { FAULTS(NAME) FAULT_COUNT };

/* The shared file, as shim.py reads and writes it. */
struct row {
    char name[32];
    _Atomic uint32_t chance;   /* in 65,536 calls; the test writes it */
    _Atomic uint32_t tried;    /* calls that could have failed in this way */
    _Atomic uint32_t injected; /* those that did */
    uint32_t error;
};

struct state {
    uint32_t rows;            /* FAULT_COUNT, once the library is there */
    uint32_t seed;
    _Atomic uint32_t on;      /* 0: nothing fails, nothing is tried */
    _Atomic int32_t clients;  /* descriptors of clients that are open */
    _Atomic uint64_t calls;   /* of the functions in calls.c, not of malloc */
    _Atomic int64_t clock;    /* seconds that somebody has set the clock on */
    struct row row[FAULT_COUNT];
};

/* The shared file; NULL when there is none, and nothing fails. */
extern struct state *faults;

/* Should this call fail in this way? If so, counts the fault and sets errno. */
bool faults_hit(enum fault fault);

/* Returns how many of n bytes a call may take: all of them, or fewer. The
 * caller counts the fault if the call was shorter because of that. */
size_t faults_shorten(enum fault fault, size_t n);

/* Counts a fault that came. */
void faults_count(enum fault fault);

/* Is this an address in the code of the server itself, not of a library? */
bool faults_in_program(const void *place);
