/*
 * Serves no one: makes COUNT children or threads, one after the other. Each
 * burns 20 ms of CPU time and sleeps 5 times. Waits for a line before it
 * begins; then prints the CPU seconds and the context switches that they and
 * it have used since, by their own clocks, and waits for another line.
 *
 *     ended fork|thread COUNT
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double *used; /* shared with the children */

static double seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void *work(void *unused)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    double begun = seconds(CLOCK_THREAD_CPUTIME_ID);
    (void)unused;
    while (seconds(CLOCK_THREAD_CPUTIME_ID) < begun + 0.02)
        continue;
    for (int i = 0; i < 5; i++)
        nanosleep(&pause, NULL);
    *used += seconds(CLOCK_THREAD_CPUTIME_ID);
    return NULL;
}

static void work_in_child(void)
{
    if (fork() == 0) {
        work(NULL);
        _exit(0);
    }
    wait(NULL);
}

static void work_in_thread(void)
{
    pthread_t id;
    pthread_create(&id, NULL, work, NULL);
    pthread_join(id, NULL);
}

static long switches(void)
{
    struct rusage own, children;
    getrusage(RUSAGE_SELF, &own);
    getrusage(RUSAGE_CHILDREN, &children);
    return own.ru_nvcsw + own.ru_nivcsw + children.ru_nvcsw + children.ru_nivcsw;
}

int main(int argc, char **argv)
{
    char line[16];

    (void)argc;
    setvbuf(stdin, NULL, _IONBF, 0);
    used = mmap(NULL, sizeof *used, PROT_READ | PROT_WRITE,
                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (used == MAP_FAILED)
        return 1;
    /* Those before the measurement must not count. */
    (strcmp(argv[1], "fork") == 0 ? work_in_child : work_in_thread)();
    puts("ready");
    fflush(stdout);
    fgets(line, sizeof line, stdin);
    double begun = seconds(CLOCK_THREAD_CPUTIME_ID);
    long before = switches();
    *used = 0;
    for (long i = strtol(argv[2], NULL, 10); i > 0; i--)
        (strcmp(argv[1], "fork") == 0 ? work_in_child : work_in_thread)();
    printf("%f %ld\n",
           *used + seconds(CLOCK_THREAD_CPUTIME_ID) - begun,
           switches() - before);
    fflush(stdout);
    fgets(line, sizeof line, stdin);
    return 0;
}
