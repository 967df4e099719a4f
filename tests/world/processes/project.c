/*
 * project - what the parents call of common/, where the real function would
 * need files, sockets or Redis; see sim.h. The names are those of common/.
 */
#include "sim.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "event_loop.h"

/* ------------------------------------------------------------------- server */

static void set_options(struct options *o, const struct plan *plan)
{
    *o = (struct options){.workers = plan->limit, .max_children = plan->limit,
                          .max_threads = plan->limit, .keep_alive_ms = 5000,
                          .request_timeout_ms = 10000, .quiet = true};
    o->drain_timeout_ms = (int)plan->drain_ms;
}

void __wrap_server_start(struct server *server,
                         const struct architecture *architecture, int argc,
                         char **argv)
{
    static int listeners[LIMIT_MAX];
    static _Alignas(64) char shared[sizeof(struct server_shared) +
                                    LIMIT_MAX * sizeof(struct worker_slot)];
    (void)argc;
    (void)argv;
    memset(shared, 0, sizeof shared);
    for (int i = 0; i < LIMIT_MAX; i++) {
        listeners[i] = FIRST_FD + i;
        sim.fds[FIRST_FD + i] = (struct fd_state){.open = true};
    }
    *server = (struct server){
        .architecture = architecture, .pid = parent_pid(), .port = 8000,
        .listeners = listeners, .log = {.fd = -1},
        .slots = LIMIT_MAX, .shared = (struct server_shared *)shared};
    server->listener_count =
        architecture->kind == EVENT_LOOP ? sim.plan.limit : 1;
    set_options(&server->options, &sim.plan);
    sim.server = server;
    signals_install(&(struct signals_stop){
        &server->shared->stop_ms, listeners, server->listener_count,
        server->options.drain_timeout_ms});
    if (server->pid == 1) /* as server.c does */
        signal(SIGCHLD, SIG_IGN);
    sim.server_started = true;
}

void __wrap_server_ready(const struct server *server, const char *model, ...)
{
    (void)server;
    (void)model;
    sim_step("server_ready");
}

int __wrap_server_finish(const struct server *server)
{
    (void)server;
    if (sim.in_child)
        sim_fail("a child prints the final report");
    return 0;
}

static void act_on(int number, const char *what)
{
    if (sim.in_handler > 0)
        sim_fail("a signal handler calls %s()", what);
    if (sim.in_child)
        sim_fail("a child acts on %s", signal_name(number));
    say("%s()", what);
    sim.note_since[number] = 0;
}

void __wrap_stats_report(uint64_t requests, uint64_t connections)
{
    (void)requests;
    (void)connections;
    act_on(SIGUSR1, "stats_report");
    sim_step("stats_report");
}

/* A worker of common/ that follows the parent opens the log, too. */
int __wrap_access_log_reopen(const struct access_log *log)
{
    (void)log;
    if (!sim.in_child)
        act_on(SIGHUP, "access_log_reopen");
    sim_step("access_log_reopen");
    return 0;
}

void __wrap_warn_user(const char *format, ...)
{
    char text[1024];
    va_list args;
    if (sim.in_handler > 0)
        sim_fail("a signal handler calls warn_user()");
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    say("warns: %s", text);
    sim_step("write");
}

/* The first one fails in some worlds: die() is right then. */
void *__real_calloc(size_t count, size_t size);
void __real_free(void *block);

void *__wrap_calloc(size_t count, size_t size)
{
    static _Alignas(64) char memory[1 << 16];
    if (sim.plan.no_memory) {
        sim.memory_failed = true;
        return NULL;
    }
    if (count * size > sizeof memory || sim.allocated > 0)
        sim_fail("the world is too small for calloc(%zu, %zu)", count, size);
    sim.allocated = 1;
    return memset(memory, 0, count * size);
}

void __wrap_free(void *block)
{
    if (block == NULL)
        return;
    if (sim.allocated == 0)
        sim_fail("frees memory twice");
    sim.allocated = 0;
}

/* ------------------------------------------------------ workers and clients */

static void check_child(int number)
{
    if (sim.in_child && sim.subject->pool && number != sim.child_number)
        sim_fail("worker %d was forked, and serves as worker %d",
                 sim.child_number, number);
}

void __wrap_blocking_worker_init(struct blocking_worker *bw,
                                 const struct server *server, int number)
{
    memset(bw, 0, sizeof *bw);
    bw->base.server = server;
    bw->base.slot = &server->shared->slots[number];
    check_child(number);
    if (sim.blocking_count == LIMIT_MAX + 1)
        sim_fail("more than %d workers", LIMIT_MAX);
    sim.blocking[sim.blocking_count++] = bw;
}

void __wrap_blocking_worker_free(struct blocking_worker *bw)
{
    if (thread_serves(bw))
        sim_fail("frees a worker that serves a client");
    sim.blocking_freed++;
    bw->redis.context = NULL;
}

void __wrap_worker_before_fork(struct worker *worker)
{
    sim_step("worker_before_fork");
    server_act_on_signals(worker->server);
}

/* Only what no client uses may be given back. */
void __wrap_blocking_worker_trim(void *bw)
{
    sim_step("blocking_worker_trim");
    if (thread_serves(bw))
        sim_fail("takes files from a worker that serves a client");
}

void __wrap_redis_close(struct redis *redis)
{
    redis->context = NULL;
}

void __wrap_file_table_empty(struct file_table *files)
{
    (void)files;
    sim.files_open = false;
}

/* What rules.h must know of a client: its worker, and for how long. The real
 * function has its own world. */
static void serve_until(const struct server *server, int64_t end)
{
    bool own = thread_is_main();
    while (sim.now < end) {
        int64_t until = sim.now + 50 * MS < end ? sim.now + 50 * MS : end;
        thread_wait(WAIT_SERVING, NULL, NULL, until, own, true);
        if (own)
            server_act_on_signals(server);
        if (signals_stopping_ms() > server->options.drain_timeout_ms)
            return;
        if (signals_stopping() && sim_percent(10))
            return;
    }
}

void __wrap_serve_blocking(struct blocking_worker *bw, int fd)
{
    static char open_connection;
    sim_step("serve_blocking");
    if (thread_serves(bw))
        sim_fail("a worker serves two clients");
    if (sim.in_child && ++sim.served > 1 && !sim.subject->pool)
        sim_fail("a child serves a second client");
    thread_note(bw);
    say("serves descriptor %d", fd);
    if (sim_percent(50))
        bw->redis.context = (redisContext *)&open_connection;
    sim.files_open |= sim_percent(50);
    serve_until(bw->base.server, sim.now + sim_below(sim.plan.serve_us));
    close(fd);
    thread_note(NULL);
}

/* -------------------------------------------------------------------- pools */

void __real_worker_processes_init(struct worker_processes *workers,
                                  const struct server *server);
int __real_wait_for_missing_worker(struct worker_processes *workers);

void __wrap_worker_processes_init(struct worker_processes *workers,
                                  const struct server *server)
{
    sim.workers = workers;
    for (int i = 0; i < LIMIT_MAX; i++)
        sim.worker[i].wanted = sim.now;
    __real_worker_processes_init(workers, server);
}

int __wrap_wait_for_missing_worker(struct worker_processes *workers)
{
    sim.number = __real_wait_for_missing_worker(workers);
    say("wait_for_missing_worker() = %d", sim.number);
    return sim.number;
}

/* ------------------------------------------------ the loop of a child of 07 */

void __wrap_event_loop_init(struct event_loop *loop,
                            const struct server *server, int number)
{
    loop->base.server = server;
    loop->listener = server->listeners[number];
    check_child(number);
    sim.blocking_count++;
}

void __wrap_event_loop_free(struct event_loop *loop)
{
    (void)loop;
    sim.blocking_freed++;
}

bool __wrap_event_loop_is_over(const struct event_loop *loop)
{
    (void)loop;
    return signals_stopping();
}

int __wrap_event_loop_timeout_ms(const struct event_loop *loop)
{
    (void)loop;
    return 50;
}

void __wrap_event_loop_begin_iteration(struct event_loop *loop)
{
    server_act_on_signals(loop->base.server);
}

void __wrap_event_loop_ready(struct event_loop *loop, void *source,
                             uint32_t events)
{
    (void)loop;
    (void)source;
    (void)events;
}

void __wrap_event_loop_accept(struct event_loop *loop)
{
    (void)loop;
}

void __wrap_event_loop_end_iteration(struct event_loop *loop)
{
    (void)loop;
}
