/* server - how a server starts and ends; see server.h. */
#include "server.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netdb.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "file_table.h"
#include "net.h"
#include "output.h"
#include "sandbox.h"

/* The soft limit of descriptors is often 1,024, for the sake of select(2);
 * ours may have what the hard limit allows. A thread needs one for its client,
 * one for Redis, at least one for a file; a quarter of the limit is for each of
 * the three. If the clients of an event loop took them all, none would be left
 * to serve them with. */
static void fit_descriptor_limit(struct server *server)
{
    struct options *options = &server->options;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        die("getrlimit: %s", strerror(errno));
    rlim_t soft = limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
        limit.rlim_cur = soft;
    int quarter = (int)(limit.rlim_cur / 4);
    if (options->threads > quarter)
        options->threads = quarter;
    if (options->max_threads > quarter)
        options->max_threads = quarter;
    if (options->max_connections == 0)
        options->max_connections = quarter < 1 << 20 ? 3 * quarter : 1 << 20;
    /* Workers that are processes have descriptors of their own. */
    int sharing = options->threads > 0 ? options->threads
                  : server->architecture->kind == PER_CONNECTION
                      ? options->max_threads : 1;
    int files = quarter / sharing;
    server->site.files_per_worker =
        files < FILE_TABLE_SIZE ? (unsigned)files : FILE_TABLE_SIZE;
}

/* A server may be started with descriptors 0 to 2 closed. The next files that
 * it opens would get these numbers, and a warning would go to a client.
 * open(2) returns the lowest free descriptor: the one that is missing. */
static void open_standard_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd)
            die("descriptor %d is closed, and /dev/null cannot be opened in "
                "its place: %s", fd, strerror(errno));
}

/* Looks the host up now, because getaddrinfo(3) blocks. IPv4 goes first, as in
 * hiredis: "localhost" is often ::1 before it is 127.0.0.1, where Redis
 * listens. */
static void resolve_redis(struct redis_address *redis)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found, *a;
    char numeric[NI_MAXHOST];
    if (redis->none || redis->path != NULL)
        return;
    int error = getaddrinfo(redis->host, NULL, &hints, &found);
    if (error == 0) {
        for (a = found; a->ai_family != AF_INET && a->ai_next != NULL;)
            a = a->ai_next;
        error = getnameinfo(a->ai_addr, a->ai_addrlen, numeric, sizeof numeric,
                            NULL, 0, NI_NUMERICHOST);
        freeaddrinfo(found);
    }
    if (error != 0)
        die("the Redis host '%s' is unknown (%s); give --redis another name "
            "or an address", redis->host, gai_strerror(error));
    if ((redis->host = strdup(numeric)) == NULL)
        die("out of memory");
}

static void make_shared(struct server *server)
{
    const struct options *options = &server->options;
    server->stats_slots = options->workers > 0   ? (unsigned)options->workers
                          : options->threads > 0 ? (unsigned)options->threads
                                                 : 1;
    /* MAP_SHARED: parent and children write to the same pages, where fork(2)
     * would copy ordinary memory at the first write. They start zeroed. */
    server->shared = mmap(NULL, sizeof *server->shared +
                          server->stats_slots * sizeof(struct stats_slot),
                          PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                          -1, 0);
    if (server->shared == MAP_FAILED)
        die("no memory for the counters: %s", strerror(errno));
}

static void open_listeners(struct server *server)
{
    struct options *options = &server->options;
    /* Loops each have a listening socket of their own (SO_REUSEPORT). */
    server->listener_count = server->architecture->kind == EVENT_LOOP
                                 ? (int)server->stats_slots : 1;
    server->listeners = calloc((size_t)server->listener_count, sizeof(int));
    if (server->listeners == NULL)
        die("out of memory");
    server->port = options->port;
    for (int i = 0; i < server->listener_count; i++)
        server->listeners[i] = net_listen(server, i);
    int backlog = net_accept_queue_limit(server->listeners[0]);
    if (backlog < options->backlog)
        warn_user("the kernel shortens the accept queue from %d to %d clients; "
                  "raise the limit with: sysctl net.core.somaxconn=%d",
                  options->backlog, backlog, options->backlog);
    options->backlog = backlog;
}

/* Gives up root's rights, for good. After setuid(2) the process can no longer
 * change its groups.
 *
 * Root is needed for a port below 1024 only. All files of the site and the log
 * are opened afterwards: where the user may write to a folder, a symbolic link
 * would make root read, create or give away any file of the system. And a log
 * that the user can open now is one that SIGHUP can reopen. */
static void become_user(const char *name)
{
    if (name == NULL)
        return;
    const struct passwd *user = getpwnam(name);
    if (user == NULL)
        die("there is no user '%s'; name one that exists with --user", name);
    if (setgroups(0, NULL) < 0 || setgid(user->pw_gid) < 0 ||
        setuid(user->pw_uid) < 0)
        die("cannot become user '%s': %s; only root can", name,
            strerror(errno));
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
    site->keep_alive_ms = options->keep_alive_ms;
    site->request_timeout_ms = options->request_timeout_ms;
}

void server_start(struct server *server,
                  const struct architecture *architecture, int argc,
                  char **argv)
{
    *server = (struct server){.architecture = architecture, .pid = getpid()};
    struct options *options = &server->options;
    open_standard_descriptors();
    options_parse(options, architecture, argc, argv);
    describe_site(server);
    fit_descriptor_limit(server);
    resolve_redis(&options->redis);
    make_shared(server);
    open_listeners(server);
    become_user(options->user);
    site_open(&server->site, options->root);
    if (access_log_open(&server->log, options->access_log,
                        &server->shared->log) < 0)
        die("cannot open the access log %s: %s; the user that the server runs "
            "as must be able to write there", options->access_log,
            strerror(errno));
    /* strftime(3) reads /etc/localtime once for each process: here, where the
     * file can be opened, and not in every child of 02. */
    tzset();
    sandbox_enter(server);
    signals_install(server);
    /* Process 1 of a container inherits the orphans of all others. SIG_IGN: the
     * kernel reaps children itself (waitpid(2), NOTES). A server that makes
     * children replaces this, and tells them by their process group. */
    if (server->pid == 1) {
        signal(SIGCHLD, SIG_IGN);
        setpgid(0, 0);
    }
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
    /* Not by stdio: it would keep the line for a pipe until its buffer is full,
     * and each child of fork(2) would print what the buffer holds again. */
    buffer_printf(&line, "listening on http://%s%s%s:%d/ (%s, %s, "
                  "backlog %d)\n", ipv6 ? "[" : "", options->host,
                  ipv6 ? "]" : "", server->port, server->architecture->folder,
                  text, options->backlog);
    output_line(STDOUT_FILENO, buffer_slice(&line));
    buffer_free(&line);
}

void server_act_on_signals(const struct server *server)
{
    unsigned recorded = atomic_exchange(&signals_recorded, 0);
    if (recorded & REPORT_REQUESTED)
        stats_report(server->shared->stats, server->stats_slots);
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
    /* 03 and 07 block the signals except while they wait for their workers.
     * From here on a second request to stop ends the process. */
    signals_set(&set);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    if (!server->options.quiet)
        stats_report(server->shared->stats, server->stats_slots);
    return EXIT_SUCCESS;
}
