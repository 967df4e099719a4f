/* descriptors - before the first file is opened; see descriptors.h. */
#include "descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "fatal.h"

void descriptors_open_standard(void)
{
    /* open(2) returns the lowest free descriptor: the one that is
     * missing. */
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd)
            die("descriptor %d is closed, and /dev/null cannot be opened in "
                "its place: %s", fd, strerror(errno));
}

int descriptors_raise_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        die("getrlimit: %s", strerror(errno));
    rlim_t soft = limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
        limit.rlim_cur = soft;
    return limit.rlim_cur < INT_MAX ? (int)limit.rlim_cur : INT_MAX;
}
