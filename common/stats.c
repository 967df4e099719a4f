/* stats - how much was served, and what it cost; see stats.h. */
#include "stats.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/times.h>
#include <unistd.h>

#include "output.h"

void stats_report(uint64_t requests, uint64_t connections)
{
    struct tms own; /* in clock ticks, as in /proc */
    long u = 0, s = 0;
    char path[64];
    int child;
    times(&own);
    long user = own.tms_utime + own.tms_cutime;
    long system = own.tms_stime + own.tms_cstime;
    /* The kernel lists the children that are alive. Fields 14 and 15 of their
     * /proc/PID/stat are wanted; field 2 is the program, in parentheses. */
    FILE *children = fopen("/proc/thread-self/children", "re");
    while (children != NULL && fscanf(children, "%d", &child) == 1) {
        snprintf(path, sizeof path, "/proc/%d/stat", child);
        FILE *file = fopen(path, "re");
        if (file == NULL)
            continue; /* it has just ended */
        if (fscanf(file, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u "
                   "%*u %ld %ld", &u, &s) == 2) {
            user += u;
            system += s;
        }
        fclose(file);
    }
    if (children != NULL)
        fclose(children);
    double second = (double)sysconf(_SC_CLK_TCK);
    char line[160];
    snprintf(line, sizeof line, "served %" PRIu64 " requests on %" PRIu64
             " connections; CPU %.2f s user, %.2f s system\n", requests,
             connections,
             (double)user / second, (double)system / second);
    output_line(STDOUT_FILENO, slice_of(line));
}
