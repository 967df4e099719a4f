/* stats - how much was served, and what it cost; see stats.h. */
#include "stats.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static void add_usage(int who, double *user, double *system)
{
    struct rusage usage;
    if (getrusage(who, &usage) == 0) {
        *user += seconds(usage.ru_utime);
        *system += seconds(usage.ru_stime);
    }
}

/* Fields 14 and 15 of /proc/PID/stat, in clock ticks. Field 2 is the name in
 * parentheses and may hold spaces, so counting starts behind the last ')'. */
static void add_process(int pid, double *user, double *system)
{
    char path[64], line[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return; /* it has ended: RUSAGE_CHILDREN will have it */
    unsigned long u, s;
    const char *name_end =
        fgets(line, sizeof line, file) != NULL ? strrchr(line, ')') : NULL;
    if (name_end != NULL &&
        sscanf(name_end + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u "
               "%lu %lu", &u, &s) == 2) {
        double tick = (double)sysconf(_SC_CLK_TCK);
        *user += (double)u / tick;
        *system += (double)s / tick;
    }
    fclose(file);
}

/* The kernel lists the living children of each thread. */
static void add_living_children(double *user, double *system)
{
    char path[64];
    int pid = getpid();
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", pid, pid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return;
    int child;
    while (fscanf(file, "%d", &child) == 1)
        add_process(child, user, system);
    fclose(file);
}

void stats_report(const struct stats_slot *slots, unsigned n)
{
    double user = 0, system = 0;
    uint64_t requests = 0, connections = 0;
    add_usage(RUSAGE_SELF, &user, &system);
    add_usage(RUSAGE_CHILDREN, &user, &system);
    add_living_children(&user, &system);
    for (unsigned i = 0; i < n; i++) {
        requests += atomic_load(&slots[i].requests);
        connections += atomic_load(&slots[i].connections);
    }
    printf("served %llu requests on %llu connections; "
           "CPU %.3f s user, %.3f s system\n",
           (unsigned long long)requests, (unsigned long long)connections, user,
           system);
    fflush(stdout);
}
