/* server - how a server starts and ends; see server.h. */
#include "server.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "descriptors.h"
#include "file_table.h"
#include "net.h"
#include "output.h"
#include "redis_resolve.h"
#include "sandbox.h"
#include "site_open.h"

/* Divides the descriptors that the limit allows. A thread may need three:
 * for its client, for Redis and for a file. So there are at most as many
 * threads as a quarter of the limit, and the fourth quarter is for
 * everything else. The clients of an event loop get three quarters (a million,
 * if the limit is above four million): if they had all, none would be left for
 * the files that they ask for. */
static void share_descriptors(struct server *server)
{
    struct options *options = &server->options;
    int quarter = descriptors_raise_limit() / 4;
    if (options->threads > quarter)
        options->threads = quarter;
    if (options->max_threads > quarter)
        options->max_threads = quarter;
    int most = 3 * quarter < 1 << 20 ? 3 * quarter : 1 << 20;
    if (options->max_connections == 0)
        options->max_connections = most;
    /* Workers that are processes have descriptors of their own. */
    int sharing = 1;
    if (options->threads > 0)
        sharing = options->threads;
    else if (server->architecture->kind == PER_CONNECTION)
        sharing = options->max_threads;
    int files = quarter / sharing;
    if (files > FILE_TABLE_SIZE)
        files = FILE_TABLE_SIZE;
    server->site.files_per_worker = (unsigned)files;
}

static void make_shared(struct server *server)
{
    const struct options *options = &server->options;
    server->slots = 1;
    if (options->workers > 0)
        server->slots = (unsigned)options->workers;
    else if (options->threads > 0)
        server->slots = (unsigned)options->threads;
    /* MAP_SHARED: parent and children write to the same memory pages, where
     * fork(2) would copy ordinary ones at the first write. They start
     * zeroed. */
    size_t size = sizeof *server->shared +
                  server->slots * sizeof server->shared->slots[0];
    server->shared = mmap(NULL, size, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (server->shared == MAP_FAILED)
        die("no memory for the counters: %s", strerror(errno));
    server->shared->room = INT_MAX; /* 02 and 04 set their limit */
}

static void open_listeners(struct server *server)
{
    struct options *o = &server->options;
    const struct architecture *architecture = server->architecture;
    bool event_loop = architecture->kind == EVENT_LOOP;
    /* Loops each have a listening socket of their own. */
    int count = 1;
    if (event_loop)
        count = (int)server->slots;
    int *listeners = calloc((size_t)count, sizeof *listeners);
    if (listeners == NULL)
        die("out of memory");
    listeners[0] = net_listen(o->host, o->port, o->backlog, NET_PORT_OWN);
    server->port = net_port(listeners[0]);
    if (count > 1)
        net_share_port(listeners[0]);
    for (int i = 1; i < count; i++)
        listeners[i] = net_listen(o->host, server->port, o->backlog,
                                  NET_PORT_JOINED);
    for (int i = 0; i < count && event_loop; i++)
        net_never_wait(listeners[i]);
    if (architecture->keeps_files)
        net_limit_wait(listeners[0]);
    server->listeners = listeners;
    server->listener_count = count;
}

/* Of --backlog the kernel may take less than was asked for. */
static void check_backlog(struct server *server)
{
    struct options *options = &server->options;
    int backlog = net_accept_queue_limit(server->listeners[0]);
    if (backlog < options->backlog)
        warn_user("the kernel shortens the accept queue from %d to %d clients; "
                  "raise the limit with: sysctl net.core.somaxconn=%d",
                  options->backlog, backlog, options->backlog);
    options->backlog = backlog;
}

/* What the HTTP half needs to know of the options. */
static void describe_site(struct server *server)
{
    const struct options *options = &server->options;
    struct site *site = &server->site;
    site->name = server->architecture->name;
    snprintf(site->signature, sizeof site->signature, "%s (%s)",
             SERVER_VERSION, site->name);
    site->pipeline = options->pipeline;
    site->compute = options->compute;
    site->keep_alive_ms = options->keep_alive_ms;
    site->request_timeout_ms = options->request_timeout_ms;
}

static void open_log(struct server *server)
{
    const char *path = server->options.access_log;
    if (access_log_open(&server->log, path, &server->shared->log) < 0)
        die("cannot open the access log %s: %s; the user that the server runs "
            "as must be able to write there", path, strerror(errno));
}

static void enter_sandbox(const struct server *server)
{
    /* Standard output is open, and is not opened again. */
    const char *log = NULL;
    if (server->log.fd > STDERR_FILENO)
        log = server->log.path;
    bool entered = sandbox_enter(server->site.public_folder, log);
    if (!server->options.verbose)
        return;
    if (entered)
        warn_user("sandboxed by Landlock");
    else
        warn_user("not sandboxed: this kernel offers no Landlock");
}

static void install_signals(const struct server *server)
{
    const struct signals_stop stop = {
        .requested_ms = &server->shared->stop_ms,
        .listeners = server->listeners,
        .listener_count = server->listener_count,
        .drain_timeout_ms = server->options.drain_timeout_ms};
    signals_install(&stop);
    /* Process 1 of a container becomes the parent of every orphan in it.
     * With SIG_IGN the kernel reaps them (waitpid(2), NOTES). 02, 03, and 07
     * with --workers, have children of their own: they take SIG_IGN back, and
     * reap both kinds. Theirs are in the process group that setpgid(2) makes
     * here. */
    if (server->pid == 1) {
        signal(SIGCHLD, SIG_IGN);
        setpgid(0, 0);
    }
}

void server_start(struct server *server,
                  const struct architecture *architecture, int argc,
                  char **argv)
{
    *server = (struct server){.architecture = architecture, .pid = getpid()};
    descriptors_open_standard();
    options_parse(&server->options, architecture, argc, argv);
    describe_site(server);
    share_descriptors(server);
    redis_resolve(&server->options.redis);
    make_shared(server);
    open_listeners(server);
    check_backlog(server);
    if (server->options.user != NULL)
        sandbox_become_user(server->options.user);
    site_open(&server->site, server->options.root);
    open_log(server);
    /* strftime(3) reads /etc/localtime once for each process: here, where
     * the file can be opened, and not in every child of 02. */
    tzset();
    enter_sandbox(server);
    install_signals(server);
}

void server_ready(const struct server *server, const char *model, ...)
{
    const struct options *options = &server->options;
    bool ipv6 = strchr(options->host, ':') != NULL;
    struct buffer line = {0};
    char text[64];
    va_list args;
    if (options->quiet)
        return;
    va_start(args, model);
    vsnprintf(text, sizeof text, model, args);
    va_end(args);
    /* Not by stdio: it would keep the line for a pipe until its buffer is
     * full, and each child of fork(2) would print what the buffer holds
     * again. */
    buffer_printf(&line, "listening on http://%s%s%s:%d/ (%s, %s, "
                  "backlog %d)\n", ipv6 ? "[" : "", options->host,
                  ipv6 ? "]" : "", server->port, server->architecture->folder,
                  text, options->backlog);
    output_line(STDOUT_FILENO, buffer_slice(&line));
    buffer_free(&line);
}

static void report(const struct server *server)
{
    uint64_t requests = 0, connections = 0;
    for (unsigned i = 0; i < server->slots; i++) {
        requests += atomic_load(&server->shared->slots[i].requests);
        connections += atomic_load(&server->shared->slots[i].connections);
    }
    stats_report(requests, connections);
}

void server_act_on_record(const struct server *server)
{
    unsigned recorded = atomic_exchange(&signals_recorded, 0);
    if (recorded & REPORT_REQUESTED)
        report(server);
    if (recorded & REOPEN_REQUESTED) {
        atomic_fetch_add(&server->shared->log_generation, 1);
        if (access_log_reopen(&server->log) < 0)
            warn_user("cannot reopen the access log %s: %s; still using the "
                      "old one", server->log.path, strerror(errno));
    }
}

bool server_warning_due(const struct server *server)
{
    return warning_due(&server->shared->warned_ms);
}

int server_finish(const struct server *server)
{
    sigset_t set;
    /* A parent of workers blocks the signals except while it waits for them.
     * From here on a second request to stop ends the process. */
    signals_set(&set);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    if (!server->options.quiet)
        report(server);
    return EXIT_SUCCESS;
}
