/*
 * run - runs worlds, and counts; see sim.h.
 *
 *     processes                        every server, 50,000 worlds each
 *     processes --server forking       one of them
 *     processes --worlds N             so many worlds of each
 *     processes --seed N               begins with this seed
 *     processes --server S --seed N --trace   one world, told call by call
 *
 * A server's run ends at the first world in which a rule does not hold, with
 * the line that repeats it. The last line says `N passed, N failed`: a server is
 * one test.
 */
#include "sim.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum { WORLDS = 50000, HANG_SECONDS = 5 };

static const struct subject *const subjects[] = {&forking, &preforking,
                                                 &threaded, &epoll};
enum { SUBJECTS = sizeof subjects / sizeof subjects[0] };

static const char *program;

static void say_how_to_repeat(const char *why)
{
    printf("%s --server %s --seed %llu --trace   # %s\n", program,
           sim.subject->name, (unsigned long long)sim.seed, why);
    fflush(stdout);
}

/* The server crashed, or calls nothing any more. */
int __real_sigaction(int number, const struct sigaction *action,
                     struct sigaction *old);
_Noreturn void __real__exit(int status);
_Noreturn void __real_exit(int status); /* writes what gcov has counted, too */

static void crashed(int number)
{
    say_how_to_repeat(number == SIGPROF ? "hangs without a call"
                                        : strsignal(number));
    printf("0 passed, 1 failed\n");
    fflush(stdout);
    __real__exit(1);
}

static void hung(int number)
{
    static uint64_t last_seed;
    static unsigned last_steps;
    if (sim.seed == last_seed && sim.steps == last_steps)
        crashed(number);
    last_seed = sim.seed;
    last_steps = sim.steps;
}

/* Counts processor time, so that a crowded machine is no failure. */
static void watch_over_worlds(void)
{
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
    const struct itimerval time = {{HANG_SECONDS, 0}, {HANG_SECONDS, 0}};
    static char stack[64 * 1024]; /* a crash may be the end of a stack */
    const stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction crash = {.sa_handler = crashed, .sa_flags = SA_ONSTACK};
    struct sigaction hang = {.sa_handler = hung, .sa_flags = SA_RESTART};
    sigaltstack(&other, NULL);
    for (size_t i = 0; i < sizeof crashes / sizeof crashes[0]; i++)
        __real_sigaction(crashes[i], &crash, NULL);
    __real_sigaction(SIGPROF, &hang, NULL);
    setitimer(ITIMER_PROF, &time, NULL);
}

static unsigned long long number(const char *text)
{
    char *end;
    errno = 0;
    unsigned long long n = strtoull(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0') {
        fprintf(stderr, "%s: '%s' is no number\n", program, text);
        __real__exit(2);
    }
    return n;
}

struct job {
    const char *server; /* NULL: all */
    uint64_t seed, worlds;
    bool trace;
};

static struct job parse(int argc, char **argv)
{
    static const struct option options[] = {
        {"server", required_argument, NULL, 's'},
        {"seed", required_argument, NULL, 'n'},
        {"worlds", required_argument, NULL, 'w'},
        {"trace", no_argument, NULL, 't'},
        {0}};
    struct job job = {.seed = 1, .worlds = WORLDS};
    int option;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
        switch (option) {
        case 's': job.server = optarg; break;
        case 'n': job.seed = number(optarg); break;
        case 'w': job.worlds = number(optarg); break;
        case 't': job.trace = true; break;
        default: __real__exit(2);
        }
    if (job.trace)
        job.worlds = 1;
    return job;
}

/* Returns how many worlds held before the first that did not. */
static uint64_t run(const struct subject *subject, const struct job *job)
{
    for (uint64_t i = 0; i < job->worlds; i++)
        if (!sim_run(subject, job->seed + i, job->trace)) {
            say_how_to_repeat(sim.why);
            return i;
        }
    return job->worlds;
}

int main(int argc, char **argv)
{
    unsigned long long passed = 0, failed = 0;
    program = argv[0];
    struct job job = parse(argc, argv);
    watch_over_worlds();
    for (int i = 0; i < SUBJECTS; i++) {
        if (job.server != NULL && strcmp(job.server, subjects[i]->name) != 0)
            continue;
        uint64_t held = run(subjects[i], &job);
        passed += held == job.worlds;
        failed += held < job.worlds;
        printf("%s: %llu worlds\n", subjects[i]->name,
               (unsigned long long)held);
    }
    printf("%llu passed, %llu failed\n", passed, failed);
    __real_exit(failed > 0 || passed == 0);
}
