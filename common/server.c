/* server - how a server starts and ends; see server.h. */
#include "server.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <netdb.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "clock.h"
#include "fatal.h"
#include "net.h"
#include "sandbox.h"
#include "signals.h"
#include "text.h"

/* How long one warning about a shortage stands for all that follow. */
enum { WARN_INTERVAL_MS = 60 * 1000 };

/* Descriptors that an event loop keeps for files, Redis and the log: if clients
 * took the last one, there would be none to serve them with. */
enum { RESERVED_FDS = 64 };

static int open_folder(const char *root, const char *name)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/%s", root, name);
    /* O_PATH: a place to start a path walk from, with nothing to read. */
    int fd = n < (int)sizeof path
                 ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC)
                 : -1;
    if (fd < 0)
        die("there is no folder %s (%s); start in the folder that holds "
            "public/ and templates/, or name it with --root",
            path, strerror(errno));
    return fd;
}

/* Before fork(2), so that all processes share the text. */
static void read_template(struct server *server)
{
    char path[PATH_MAX], *text = NULL;
    size_t size = 0;
    snprintf(path, sizeof path, "%s/templates/guestbook/index.html",
             server->options.root);
    FILE *file = fopen(path, "re");
    ssize_t n = file != NULL ? getdelim(&text, &size, '\0', file) : -1;
    if (n < 0)
        die("cannot read %s (%s); start in the folder that holds public/ and "
            "templates/, or name it with --root", path, strerror(errno));
    fclose(file);
    server->guestbook_template = (struct slice){text, (size_t)n};
}

static int is_picture(const struct dirent *entry)
{
    return entry->d_name[0] != '.' &&
           (entry->d_type == DT_REG || entry->d_type == DT_LNK ||
            entry->d_type == DT_UNKNOWN);
}

/* Lists the pictures for /redirect once: a new one needs a restart. */
static void find_pictures(struct server *server)
{
    struct dirent **entries = NULL;
    int n = scandirat(server->public_folder, "pictures", &entries, is_picture,
                      alphasort);
    if (n <= 0)
        return;
    server->pictures = calloc((size_t)n, sizeof *server->pictures);
    if (server->pictures == NULL)
        die("out of memory");
    for (int i = 0; i < n; i++) {
        struct buffer path = {0};
        buffer_append_literal(&path, "/pictures/");
        text_append_percent_encoded(&path, slice_of(entries[i]->d_name));
        buffer_append(&path, "", 1);
        if (path.failed)
            die("out of memory");
        server->pictures[i] = path.data;
        free(entries[i]);
    }
    free(entries);
    server->picture_count = (unsigned)n;
}

/* Looks the host up now, because getaddrinfo(3) blocks and no event loop may
 * call it later. IPv4 goes first, as in hiredis itself: "localhost" is often
 * ::1 before it is 127.0.0.1, and Redis listens on the latter. */
static void resolve_redis(struct redis_address *redis)
{
    static char numeric[NI_MAXHOST];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_family = AF_INET};
    struct addrinfo *found;
    if (redis->none || redis->path != NULL)
        return;
    int error = getaddrinfo(redis->host, NULL, &hints, &found);
    hints.ai_family = AF_UNSPEC;
    if (error != 0)
        error = getaddrinfo(redis->host, NULL, &hints, &found);
    if (error == 0) {
        error = getnameinfo(found->ai_addr, found->ai_addrlen, numeric,
                            sizeof numeric, NULL, 0, NI_NUMERICHOST);
        freeaddrinfo(found);
    }
    if (error != 0)
        die("the Redis host '%s' is unknown (%s); give --redis another name "
            "or an address", redis->host, gai_strerror(error));
    redis->host = numeric;
}

/* The soft limit of descriptors is often 1,024 for programs that use select(2).
 * Ours may have what the hard limit allows. Returns the limit. */
static int raise_descriptor_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return 1024;
    rlim_t soft = limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
        limit.rlim_cur = soft;
    return limit.rlim_cur < INT_MAX ? (int)limit.rlim_cur : INT_MAX;
}

/* Threads share one table of descriptors, and each needs one for its client, one
 * for Redis and one for a file. */
static void clamp_threads(struct server *server, int descriptors)
{
    unsigned takes = server->architecture->takes;
    int *threads = takes & TAKES_THREADS ? &server->options.threads
                                         : &server->options.max_threads;
    int most = descriptors / 4;
    if (!(takes & (TAKES_THREADS | TAKES_MAX_THREADS)) || *threads <= most)
        return;
    warn_user("the limit of %d descriptors is enough for %d threads, not for "
              "%d; ulimit -n raises it", descriptors, most, *threads);
    *threads = most;
}

/* Gives up root's rights, for good. The order matters: after setuid(2) the
 * process may no longer change its groups, nor the owner of the log, which the
 * user has to reopen after a SIGHUP. */
static void become_user(const struct server *server)
{
    const char *name = server->options.user;
    if (name == NULL)
        return;
    const struct passwd *user = getpwnam(name);
    if (user == NULL)
        die("there is no user '%s'; name one that exists with --user", name);
    if (server->log.fd > STDERR_FILENO &&
        fchown(server->log.fd, user->pw_uid, user->pw_gid) < 0)
        warn_user("cannot give the access log to '%s': %s; SIGHUP may fail to "
                  "reopen it", name, strerror(errno));
    if (setgroups(0, NULL) < 0 || setgid(user->pw_gid) < 0 ||
        setuid(user->pw_uid) < 0)
        die("cannot become user '%s': %s; only root can", name,
            strerror(errno));
}

/* How many workers does the architecture start with? */
static int pool_size(const struct architecture *architecture,
                     const struct options *options)
{
    return architecture->takes & TAKES_WORKERS   ? options->workers
           : architecture->takes & TAKES_THREADS ? options->threads
                                                 : 1;
}

static void make_shared(struct server *server)
{
    server->stats_slots =
        (unsigned)pool_size(server->architecture, &server->options);
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
    const struct architecture *architecture = server->architecture;
    const struct options *options = &server->options;
    server->listener_count = architecture->listener_each
                                 ? pool_size(architecture, options) : 1;
    server->listeners = calloc((size_t)server->listener_count, sizeof(int));
    if (server->listeners == NULL)
        die("out of memory");
    server->port = options->port;
    for (int i = 0; i < server->listener_count; i++)
        server->listeners[i] =
            net_listen(options, &server->port, i, server->listener_count,
                       architecture->kind == EVENT_LOOP);
    server->backlog = net_effective_backlog(options->backlog);
    if (server->backlog < options->backlog)
        warn_user("the kernel shortens the accept queue from %d to %d clients; "
                  "raise the limit with: sysctl net.core.somaxconn=%d",
                  options->backlog, server->backlog, options->backlog);
}

void server_start(struct server *server,
                  const struct architecture *architecture, int argc,
                  char **argv)
{
    *server = (struct server){.architecture = architecture};
    struct options *options = &server->options;
    options_parse(options, architecture, argc, argv);
    snprintf(server->signature, sizeof server->signature, "%s (%s)",
             SERVER_VERSION, architecture->name);
    int descriptors = raise_descriptor_limit();
    if (options->max_connections == 0)
        options->max_connections = descriptors > 2 * RESERVED_FDS
                                       ? descriptors - RESERVED_FDS
                                       : descriptors / 2;
    clamp_threads(server, descriptors);
    server->public_folder = open_folder(options->root, "public");
    read_template(server);
    find_pictures(server);
    resolve_redis(&options->redis);
    make_shared(server);
    open_listeners(server);
    if (access_log_open(&server->log, options->access_log) < 0)
        die("cannot open the access log %s: %s; check the path and its rights",
            options->access_log, strerror(errno));
    become_user(server);
    sandbox_enter(server);
    signals_install(server);
}

void server_ready(const struct server *server, const char *model, ...)
{
    char text[128];
    va_list args;
    va_start(args, model);
    vsnprintf(text, sizeof text, model, args);
    va_end(args);
    if (server->options.quiet)
        return;
    bool ipv6 = strchr(server->options.host, ':') != NULL;
    printf("listening on http://%s%s%s:%d/ (%s, %s, backlog %d)\n",
           ipv6 ? "[" : "", server->options.host, ipv6 ? "]" : "", server->port,
           server->architecture->folder, text, server->backlog);
    /* stdio would keep the line for a pipe until its buffer is full; and before
     * fork(2) the buffer must be empty, or each child would print it again. */
    fflush(stdout);
}

void server_housekeeping(const struct server *server)
{
    /* While, not if: a signal may arrive during the work. */
    while (signals_take_report())
        stats_report(server->shared->stats, server->stats_slots);
    while (signals_take_reopen()) {
        atomic_fetch_add(&server->shared->log_generation, 1);
        if (access_log_reopen(&server->log) < 0)
            warn_user("cannot reopen the access log %s: %s; still using the "
                      "old one", server->log.path, strerror(errno));
    }
}

void server_warn_exhausted(const struct server *server, const char *format, ...)
{
    int64_t now_ms = clock_monotonic_ms();
    int64_t last_ms = atomic_load(&server->shared->warned_ms);
    if ((last_ms != 0 && now_ms - last_ms < WARN_INTERVAL_MS) ||
        !atomic_compare_exchange_strong(&server->shared->warned_ms, &last_ms,
                                        now_ms))
        return;
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    warn_user("%s", text);
}

int server_finish(const struct server *server)
{
    if (!server->options.quiet)
        stats_report(server->shared->stats, server->stats_slots);
    return EXIT_SUCCESS;
}
