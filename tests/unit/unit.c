/* unit - what every unit test needs; see unit.h. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { GUARDED_SIZE = 256 * 1024, MANY_SIZE = 128 * 1024 };

void assert_slice_at(struct slice slice, const char *text, int line)
{
    if (slice.n == strlen(text) &&
        (slice.n == 0 || memcmp(slice.p, text, slice.n) == 0))
        return;
    fail_msg("line %d: expected \"%s\", got \"%.*s\"", line, text,
             (int)slice.n, slice.p != NULL ? slice.p : "");
}

bool has_openat2(void)
{
    return syscall(SYS_openat2, -1, NULL, NULL, 0u) >= 0 || errno != ENOSYS;
}

void need_openat2(size_t tests)
{
    if (has_openat2())
        return;
    fprintf(stderr, "[  SKIPPED ] %zu test(s): openat2(2) is not here\n", tests);
    exit(EXIT_SUCCESS);
}

char *before_guard_page(const void *bytes, size_t n)
{
    static char *guard;
    if (guard == NULL) {
        size_t page = (size_t)sysconf(_SC_PAGESIZE);
        char *area = mmap(NULL, GUARDED_SIZE + page, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assert_ptr_not_equal(area, MAP_FAILED);
        guard = area + GUARDED_SIZE;
        assert_int_equal(mprotect(guard, page, PROT_NONE), 0);
    }
    assert_true(n <= GUARDED_SIZE);
    return n > 0 ? memcpy(guard - n, bytes, n) : guard;
}

static struct rlimit descriptors;

void limit_descriptors(void)
{
    int lowest = dup(STDERR_FILENO); /* all below are in use */
    close(lowest);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &descriptors), 0);
    struct rlimit none = {(rlim_t)lowest, descriptors.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
}

void lift_descriptors(void)
{
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &descriptors), 0);
}

const char *many(char c, size_t n)
{
    static char area[4][MANY_SIZE + 1];
    static unsigned next;
    char *text = area[next++ % 4];
    assert_true(n <= MANY_SIZE);
    memset(text, c, n);
    text[n] = '\0';
    return text;
}
