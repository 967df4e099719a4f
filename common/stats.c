/* stats - how much was served, and what it cost; see stats.h. */
#include "stats.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "output.h"

static double seconds(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

void stats_report(uint64_t requests, uint64_t connections)
{
    struct rusage own, children;
    char lines[240];
    getrusage(RUSAGE_SELF, &own); /* all threads, also those that ended */
    getrusage(RUSAGE_CHILDREN, &children);
    snprintf(lines, sizeof lines, "served %" PRIu64 " requests on %" PRIu64
             " connections\n"
             "CPU time of the server: %.2f s user, %.2f s system\n"
             "CPU time of its children that ended: %.2f s user, %.2f s "
             "system\n", requests, connections,
             seconds(own.ru_utime), seconds(own.ru_stime),
             seconds(children.ru_utime), seconds(children.ru_stime));
    output_line(STDOUT_FILENO, slice_of(lines));
}
