/*
 * faults - makes system calls of a server short, interrupted or failing.
 *
 *     SHIM=FILE LD_PRELOAD=build/shim.so ./epoll
 *
 * The library replaces functions of glibc. FILE is memory that it shares with
 * the test that started the server. The test writes there how often each fault
 * should come, and the library counts which ones came. Whether call number n of
 * a kind fails depends only on the seed, the kind and n. So a seed decides the
 * same faults again, although clients and scheduling differ from run to run.
 *
 * A fault is one that the kernel could cause at that place:
 *
 * - Only a call that may wait is interrupted (EINTR, signal(7)), and sendfile(2)
 *   whenever a signal has come. Only a call that may not wait finds nothing
 *   (EAGAIN).
 * - When a call is short, or finds nothing, a real kernel reports the rest to
 *   the epoll set when it arrives. Here the rest has already arrived, so
 *   EPOLL_CTL_MOD makes the kernel report it now (epoll_ctl(2)).
 * - Other errors are those that the man page of the call lists.
 *
 * Only sockets can fail: of clients, of Redis, and those that listen. Files,
 * the log and standard error are left alone. The library prints nothing.
 */
#include "faults.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct state *faults;
static uintptr_t program_begin, program_end;

/* The finalizer of MurmurHash3: each bit of x changes half of the result's. */
static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdu;
    x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53u;
    return x ^ (x >> 33);
}

/* Returns 0 unless this call should have the fault: then a random number. */
static uint64_t chosen(enum fault fault)
{
    if (faults == NULL || atomic_load(&faults->on) == 0)
        return 0;
    struct row *row = &faults->row[fault];
    uint64_t n = atomic_fetch_add(&row->tried, 1);
    uint64_t kind = mix(((uint64_t)faults->seed << 32) + fault);
    uint64_t random = mix(kind + n);
    return random % 65536 < atomic_load(&row->chance) ? random | 1 : 0;
}

void faults_count(enum fault fault)
{
    atomic_fetch_add(&faults->row[fault].injected, 1);
}

bool faults_hit(enum fault fault)
{
    if (chosen(fault) == 0)
        return false;
    faults_count(fault);
    errno = (int)faults->row[fault].error;
    return true;
}

/* Small numbers are as likely as large ones, since much of a buffer is room. */
size_t faults_shorten(enum fault fault, size_t n)
{
    uint64_t random = n > 1 ? chosen(fault) : 0;
    if (random == 0)
        return n;
    size_t most = (size_t)2 << (random >> 16) % 20;
    return 1 + (size_t)(random >> 24) % ((most < n ? most : n) - 1);
}

bool faults_in_program(const void *place)
{
    uintptr_t address = (uintptr_t)place;
    return address >= program_begin && address < program_end;
}

/* The program is the first of the loaded objects (dl_iterate_phdr(3)). */
static int find_program(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size, (void)data;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && (part->p_flags & PF_X)) {
            program_begin = info->dlpi_addr + part->p_vaddr;
            program_end = program_begin + part->p_memsz;
        }
    }
    return 1;
}

#define ROW(name, error) {#name, 0, 0, 0, error},
static const struct row rows[] = {FAULTS(ROW)};

__attribute__((constructor)) static void start(void)
{
    const char *path = getenv("SHIM");
    int fd = path != NULL ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0)
        return; /* shim.py finds no rows in FILE */
    void *memory = mmap(NULL, sizeof *faults, PROT_READ | PROT_WRITE,
                        MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        return;
    close(fd);
    dl_iterate_phdr(find_program, NULL);
    faults = memory;
    memcpy(faults->row, rows, sizeof rows);
    faults->rows = FAULT_COUNT;
}
