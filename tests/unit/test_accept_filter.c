/*
 * accept_filter - which worker of several takes the next client; see
 * common/accept_filter.h.
 *
 * A worker that holds silent clients puts the accept queue among what it waits
 * for, or leaves it to the others: that is to be seen in its filter. Here are
 * four workers in shared memory, of which one or two run.
 */
#include "accept_filter.h"

#include <err.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "serve_blocking.h"
#include "signals.h"
#include "unit.h"
#include "worker.h"
#include "workers.h"

enum { WORKERS = 4, MANY = 200 };

static struct server server; /* static: signal handlers look at it */
static size_t shared_size;
static int listener;
static int quiet[2], loud[2]; /* the first of each is the server's end */

static struct seen { /* what a worker process tells the test */
    atomic_int lives;
    bool watches;
} *seen;

static void *share(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        err(1, "mmap");
    return memory;
}

static int start_server(void **state)
{
    (void)state;
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0 || listen(listener, 1) < 0 || /* on a port of its choice */
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, quiet) < 0 ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, loud) < 0 ||
        write(loud[1], "G", 1) != 1)
        err(1, "sockets");
    shared_size = sizeof *server.shared + WORKERS * sizeof(struct stats_slot);
    server = (struct server){.stats_slots = WORKERS, .listeners = &listener,
                             .listener_count = 1, .log.fd = -1,
                             .shared = share(shared_size)};
    server.options.request_timeout_ms = 10000;
    server.options.drain_timeout_ms = 10000;
    signals_install(&server);
    seen = share(sizeof *seen);
    return 0;
}

static int end_server(void **state)
{
    (void)state;
    munmap(server.shared, shared_size);
    munmap(seen, sizeof *seen);
    close(listener);
    for (int i = 0; i < 2; i++) {
        close(quiet[i]);
        close(loud[i]);
    }
    return 0;
}

static void hold(struct worker *worker, int end, int clients)
{
    while (clients-- > 0)
        if (!accept_filter_hold(&worker->silent, &server, dup(end)))
            err(1, "accept_filter_hold");
}

/* Waits for the next client, while one of those that it holds has spoken. Has
 * it waited for new ones, too? */
static bool watches_the_queue(struct worker *worker)
{
    hold(worker, loud[0], 1);
    close(accept_filter_next(&worker->silent, &server, false));
    return worker->silent.watching;
}

TEST(who_holds_no_more_than_others_looks_out_for_new_clients)
{
    struct worker one, other;
    serve_blocking_init(&one, &server, &server.shared->stats[1]);
    serve_blocking_init(&other, &server, &server.shared->stats[2]);
    hold(&one, quiet[0], 20);
    hold(&other, quiet[0], 20);
    assert_true(watches_the_queue(&one));
    assert_true(watches_the_queue(&other));
    worker_free(&one);
    worker_free(&other);
}

TEST(who_holds_most_of_all_leaves_new_clients_to_the_others)
{
    struct worker one;
    serve_blocking_init(&one, &server, &server.shared->stats[1]);
    hold(&one, quiet[0], 20);
    assert_false(watches_the_queue(&one));
    worker_free(&one);
}

/* Worker 0 dies with MANY; its successor holds none, and lets worker 1 hold 20
 * and look. */
static void serve_clients(const struct server *s, int number)
{
    struct worker worker;
    serve_blocking_init(&worker, s, &s->shared->stats[number]);
    if (number == 0 && atomic_fetch_add(&seen->lives, 1) == 0) {
        hold(&worker, quiet[0], MANY);
        raise(SIGKILL);
    }
    while (atomic_load(&seen->lives) < 2)
        usleep(1000);
    if (number == 1) {
        hold(&worker, quiet[0], 20);
        seen->watches = watches_the_queue(&worker);
        kill(getppid(), SIGTERM);
    }
    while (!signals_stopping())
        usleep(1000);
    worker_free(&worker);
}

TEST(clients_that_died_with_a_worker_count_no_more)
{
    int terminal = dup(STDERR_FILENO);
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(nowhere, STDERR_FILENO); /* where the death is reported */
    workers_run(&server, 2, serve_clients);
    dup2(terminal, STDERR_FILENO);
    close(terminal);
    close(nowhere);
    assert_int_equal(atomic_load(&seen->lives), 2);
    assert_false(seen->watches);
}

int main(void)
{
#define WITH_SERVER(test) \
    cmocka_unit_test_setup_teardown(test, start_server, end_server)
    const struct CMUnitTest tests[] = {
        WITH_SERVER(who_holds_no_more_than_others_looks_out_for_new_clients),
        WITH_SERVER(who_holds_most_of_all_leaves_new_clients_to_the_others),
        WITH_SERVER(clients_that_died_with_a_worker_count_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
