/*
 * run - runs worlds, one after the other; see sim.h.
 *
 *     drivers [--server NAME] [--seed N] [--worlds N] [--failures N]
 *             [--without TROUBLE,...] [--trace]
 *
 * Without --server: all three. The last line says how many passed, counted in
 * groups of a thousand worlds. A world that fails prints one line that repeats
 * it.
 */
#include "sim.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

int iterative_main(int argc, char **argv);
int poll_main(int argc, char **argv);
int epoll_main(int argc, char **argv);

static const struct sim_server servers[] = {
    {"iterative", iterative_main, false, false},
    {"poll", poll_main, true, false},
    {"epoll", epoll_main, true, true},
};
enum { SERVERS = 3, GROUP = 1000, WORLD_SECONDS = 5 };

struct sim sim;
static uint32_t left_out;
static int most_failures = 10; /* then it stops */
static const char *without = "";

/* ------------------------------------------------------------ saying things */

void trace_print(const char *format, ...)
{
    va_list args;
    printf("%11.3f ms  ", (double)sim.now_us / MS);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
}

void fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(sim.sentence, sizeof sim.sentence, format, args);
    va_end(args);
    longjmp(sim.failed, 1);
}

/* ---------------------------------------------------------- the mains' data */

/* What the mains keep in static variables: the Makefile puts it into a section
 * of its own, and each world begins with what it was at first. */
extern char __start_server_data[], __stop_server_data[];
static char *first_data;
void *__real_malloc(size_t n);
int __real_sigaction(int number, const struct sigaction *new,
                     struct sigaction *old);

static void reset_data(void)
{
    size_t n = (size_t)(__stop_server_data - __start_server_data);
    if (first_data == NULL) {
        first_data = __real_malloc(n);
        memcpy(first_data, __start_server_data, n);
    }
    memcpy(__start_server_data, first_data, n);
}

/* --------------------------------------------------------------- the server */

void __wrap_server_start(struct server *server,
                         const struct architecture *architecture, int argc,
                         char **argv);
void __wrap_server_ready(const struct server *server, const char *model, ...);
int __wrap_server_finish(const struct server *server);

/* Made once, of real memory: all worlds share it. */
#undef uthash_malloc
#define uthash_malloc(n) __real_malloc(n)
static struct site_template *templates(void)
{
    static struct site_template guestbook = {
        .name = "guestbook", .text = SLICE("[$VISITOR_COUNT$]$GUEST_REMARKS$")};
    static struct site_template *table;
    if (table == NULL)
        HASH_ADD_KEYPTR(hh, table, guestbook.name, strlen(guestbook.name),
                        &guestbook);
    return table;
}

/* Instead of server.c's, which opens real folders and sockets. */
void __wrap_server_start(struct server *server,
                         const struct architecture *architecture, int argc,
                         char **argv)
{
    static int listeners[] = {LISTENER_FD};
    static _Alignas(64) char memory[sizeof(struct server_shared) +
                                    2 * sizeof(struct worker_slot)];
    struct server_shared *shared = (struct server_shared *)memory;
    static struct architecture as_if;
    static struct dirent picture = {.d_name = "one.svg"};
    static struct dirent *pictures[] = {&picture};
    (void)argc;
    (void)argv;
    memset(memory, 0, sizeof memory);
    *server = (struct server){
        .architecture = architecture, .port = 8000, .listeners = listeners,
        .listener_count = 1, .log = {"log", LOG_FD, &shared->log},
        .slots = 1, .shared = shared,
        .site = {.name = architecture->name, .signature = "sim",
                 .public_folder = FOLDER_FD, .pictures = pictures,
                 .picture_count = 1, .files_per_worker = FILE_TABLE_SIZE,
                 .templates = templates()}};
    if (sim.plan.per_connection) {
        as_if = *architecture;
        as_if.kind = PER_CONNECTION;
        server->architecture = &as_if;
        shared->room = sim.plan.at_capacity ? 0 : CLIENTS_MAX;
    }
    plan_options(&sim.plan, &server->options);
    server->options.workers = architecture->workers;
    server->site.pipeline = server->options.pipeline;
    server->site.keep_alive_ms = server->options.keep_alive_ms;
    server->site.request_timeout_ms = server->options.request_timeout_ms;
    atomic_store(&signals_recorded, 0);
    signals_install(&(struct signals_stop){&shared->stop_ms, listeners, 1,
                                           server->options.drain_timeout_ms});
    sim.server = server;
}

void __wrap_server_ready(const struct server *server, const char *model, ...)
{
    (void)server;
    (void)model;
}

int __wrap_server_finish(const struct server *server)
{
    (void)server;
    return EXIT_SUCCESS;
}

/* ------------------------------------------------------------------ a world */

static void signal_now(struct socket *of, int64_t number)
{
    (void)of;
    time_signal((int)number);
}

static void begin_world(const struct plan *plan)
{
    bool tracing = sim.tracing;
    tcp_reset_all();
    sim.plan = *plan;
    sim.now_us = MS;
    sim.calls = 0;
    sim.tracing = tracing;
    sim.started = sim.stop_planned = sim.listener_shut = sim.redis_lied = false;
    sim.over = false;
    sim.stop_us = sim.exhausted_us = sim.full_us = sim.redis_trouble_us = 0;
    sim.clients_left = sim.queue_length = 0;
    memset(sim.fds, 0, sizeof sim.fds);
    sim.fds[LISTENER_FD].kind = FD_LISTENER;
    sim.fds[LOG_FD].kind = FD_LOG;
    sim.fds[FOLDER_FD].kind = FD_FOLDER;
    time_reset();
    ready_reset();
    memory_reset();
    redis_sim_reset();
    rules_reset();
    reset_data();
    for (int i = 0; i < plan->clients; i++)
        client_make(&sim.clients[i], i);
    if (plan_has(plan, SIGNALS))
        for (int i = 0; i < 3; i++)
            time_at(chance_below(2 * SECOND), signal_now, NULL,
                    chance_percent(50) ? SIGUSR1 : SIGHUP);
}

/* A loop without a system call would never end. */
static void on_time_up(int number)
{
    (void)number;
    fail("the server has computed for %d s", WORLD_SECONDS);
}

static void on_crash(int number)
{
    fail("the server crashes: %s", strsignal(number));
}

/* AddressSanitizer says more about a crash than we could. */
static void handle(int number, void (*handler)(int))
{
    const struct sigaction action = {.sa_handler = handler,
                                     .sa_flags = SA_NODEFER};
#ifdef __SANITIZE_ADDRESS__
    if (number == SIGSEGV)
        return;
#endif
    __real_sigaction(number, &action, NULL);
}

static void limit_time(int seconds)
{
    const struct itimerval t = {.it_value.tv_sec = seconds};
    setitimer(ITIMER_VIRTUAL, &t, NULL);
}

/* Returns whether the world of a seed ends well. */
static bool run_world(const struct sim_server *server, uint64_t seed)
{
    static char name[] = "server";
    static char *arguments[] = {name, NULL};
    struct plan plan;
    plan_make(&plan, server, seed, left_out);
    if (sim.tracing)
        plan_print(&plan);
    limit_time(WORLD_SECONDS);
    if (setjmp(sim.failed) == 0) {
        begin_world(&plan);
        rules_over(server->main(1, arguments));
        return true;
    }
    trace("RULE      %s", sim.sentence);
    printf("build/default/world/drivers --server %s --seed %llu%s%s --trace"
           "   # %s\n", server->name, (unsigned long long)seed,
           without[0] != '\0' ? " --without " : "", without, sim.sentence);
    return false;
}

static int run_worlds(const struct sim_server *server, uint64_t seed,
                      long worlds, int *passed)
{
    int failed = 0, failures = 0;
    long i = 0;
    struct timespec begin, end;
    clock_gettime_real(&begin);
    while (i < worlds && failures < most_failures) {
        int before = failures;
        do
            failures += !run_world(server, seed + (uint64_t)i);
        while (++i < worlds && i % GROUP != 0 && failures < most_failures);
        *passed += failures == before;
        failed += failures > before;
    }
    clock_gettime_real(&end);
    double seconds = (double)(end.tv_sec - begin.tv_sec) +
                     (double)(end.tv_nsec - begin.tv_nsec) / 1e9;
    printf("%s: %ld worlds from seed %llu, %llu answers, %llu log lines, "
           "%.0f worlds a second\n", server->name, i,
           (unsigned long long)seed, (unsigned long long)sim.answers,
           (unsigned long long)sim.lines, (double)i / seconds);
    sim.answers = sim.lines = 0;
    return failed;
}

/* ---------------------------------------------------------------- arguments */

static void leave_out(char *names)
{
    static char copy[1024];
    snprintf(copy, sizeof copy, "%s", names);
    without = copy;
    for (char *name; (name = strsep(&names, ",")) != NULL;) {
        int i = 0;
        while (i < TROUBLES && strcmp(name, trouble_names[i]) != 0)
            i++;
        if (i == TROUBLES) {
            fprintf(stderr, "drivers: no trouble is called %s\n", name);
            exit(2);
        }
        left_out |= (uint32_t)1 << i;
    }
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"server", required_argument, NULL, 'v'},
        {"seed", required_argument, NULL, 's'},
        {"worlds", required_argument, NULL, 'w'},
        {"failures", required_argument, NULL, 'f'},
        {"trace", no_argument, NULL, 't'},
        {"without", required_argument, NULL, 'o'},
        {NULL, 0, NULL, 0}};
    const char *server = NULL;
    uint64_t seed = 1;
    long worlds = 0;
    int c, failed = 0, passed = 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    handle(SIGVTALRM, on_time_up);
    handle(SIGSEGV, on_crash);
    handle(SIGBUS, on_crash);
    while ((c = getopt_long(argc, argv, "", options, NULL)) != -1)
        switch (c) {
        case 'v': server = optarg; break;
        case 's': seed = strtoull(optarg, NULL, 10); break;
        case 'w': worlds = strtol(optarg, NULL, 10); break;
        case 'f': most_failures = (int)strtol(optarg, NULL, 10); break;
        case 't': sim.tracing = true; worlds = 1; break;
        case 'o': leave_out(optarg); break;
        default: return 2;
        }
    if (worlds == 0)
        worlds = 10000;
    for (int i = 0; i < SERVERS; i++)
        if (server == NULL || strcmp(server, servers[i].name) == 0)
            failed += run_worlds(&servers[i], seed, worlds, &passed);
    sim.over = true;
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0 || passed == 0;
}
