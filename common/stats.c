/* stats - how much was served, and what it cost; see stats.h. */
#include "stats.h"

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

struct cpu_time {
    double user, system; /* seconds */
};

static void add_usage(struct cpu_time *cpu, int who)
{
    struct rusage usage = {0};
    getrusage(who, &usage);
    cpu->user += (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec / 1e6;
    cpu->system += (double)usage.ru_stime.tv_sec + (double)usage.ru_stime.tv_usec / 1e6;
}

/* Adds fields 14 and 15 of /proc/PID/stat, in clock ticks. Field 2 is the name
 * of the program, in parentheses. */
static void add_process(struct cpu_time *cpu, int pid)
{
    char path[64];
    unsigned long user, system;
    double ticks = (double)sysconf(_SC_CLK_TCK);
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return; /* it has ended: RUSAGE_CHILDREN includes it */
    if (fscanf(file, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u "
               "%lu %lu", &user, &system) == 2) {
        cpu->user += (double)user / ticks;
        cpu->system += (double)system / ticks;
    }
    fclose(file);
}

void stats_report(const struct stats_slot *slots, unsigned n)
{
    struct cpu_time cpu = {0};
    unsigned long long requests = 0, connections = 0;
    int child;
    add_usage(&cpu, RUSAGE_SELF);
    add_usage(&cpu, RUSAGE_CHILDREN);
    /* The kernel lists the children that are alive. */
    FILE *children = fopen("/proc/thread-self/children", "re");
    while (children != NULL && fscanf(children, "%d", &child) == 1)
        add_process(&cpu, child);
    if (children != NULL)
        fclose(children);
    for (unsigned i = 0; i < n; i++) {
        requests += atomic_load(&slots[i].requests);
        connections += atomic_load(&slots[i].connections);
    }
    printf("served %llu requests on %llu connections; "
           "CPU %.3f s user, %.3f s system\n",
           requests, connections, cpu.user, cpu.system);
    fflush(stdout);
}
