/* stats - how much was served, and what it cost; see stats.h. */
#include "stats.h"

#include <stdio.h>
#include <sys/times.h>
#include <unistd.h>

/* Adds fields 14 and 15 of /proc/PID/stat. Field 2 is the name of the program,
 * in parentheses. */
static void add_process(int pid, long *user, long *system)
{
    char path[64];
    long u, s;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return; /* it has ended: times() includes it */
    if (fscanf(file, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u "
               "%ld %ld", &u, &s) == 2) {
        *user += u;
        *system += s;
    }
    fclose(file);
}

void stats_report(const struct stats_slot *slots, unsigned n)
{
    unsigned long long requests = 0, connections = 0;
    struct tms own; /* in clock ticks, as in /proc */
    int child;
    times(&own);
    long user = own.tms_utime + own.tms_cutime;
    long system = own.tms_stime + own.tms_cstime;
    /* The kernel lists the children that are alive. */
    FILE *children = fopen("/proc/thread-self/children", "re");
    while (children != NULL && fscanf(children, "%d", &child) == 1)
        add_process(child, &user, &system);
    if (children != NULL)
        fclose(children);
    for (unsigned i = 0; i < n; i++) {
        requests += atomic_load(&slots[i].requests);
        connections += atomic_load(&slots[i].connections);
    }
    double second = (double)sysconf(_SC_CLK_TCK);
    printf("served %llu requests on %llu connections; "
           "CPU %.2f s user, %.2f s system\n",
           requests, connections, (double)user / second,
           (double)system / second);
    fflush(stdout);
}
