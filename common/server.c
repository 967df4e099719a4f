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
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "fatal.h"
#include "net.h"
#include "sandbox.h"
#include "signals.h"
#include "text.h"

/* How long nothing more is said about a shortage. */
enum { SHORTAGE_SILENCE_MS = 60 * 1000 };

/* Descriptors that are neither a client's nor on a client's behalf: standard
 * streams, log, folders, listener, and some to spare. */
enum { DESCRIPTORS_APART = 16 };

static int open_folder(const char *root, const char *name)
{
    char path[4096];
    int n = snprintf(path, sizeof path, "%s/%s", root, name);
    /* O_PATH: a place to start a path walk from, nothing to read. */
    int fd = n < (int)sizeof path
                 ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC)
                 : -1;
    if (fd < 0)
        die("there is no folder %s (%s); start in the folder that holds "
            "public/ and templates/, or name it with --root",
            path, strerror(errno));
    return fd;
}

static int is_picture(const struct dirent *entry)
{
    return entry->d_name[0] != '.' &&
           (entry->d_type == DT_REG || entry->d_type == DT_LNK ||
            entry->d_type == DT_UNKNOWN);
}

/* The list for /redirect is read once, here: new pictures need a restart. */
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

/* Names are looked up here, once: getaddrinfo(3) blocks, and no event loop may
 * do that later. IPv4 goes first, as in hiredis itself: "localhost" is often
 * ::1 before it is 127.0.0.1, and Redis listens on the latter. */
static void resolve_redis(struct redis_address *redis)
{
    if (redis->none)
        return;
    if (redis->path != NULL) {
        struct sockaddr_un local = {.sun_family = AF_UNIX};
        memcpy(local.sun_path, redis->path, strlen(redis->path) + 1);
        memcpy(&redis->address, &local, sizeof local);
        redis->address_length = sizeof local;
        return;
    }
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_family = AF_INET};
    struct addrinfo *found;
    char port[16], numeric[NI_MAXHOST];
    snprintf(port, sizeof port, "%d", redis->port);
    int error = getaddrinfo(redis->host, port, &hints, &found);
    hints.ai_family = AF_UNSPEC;
    if (error != 0)
        error = getaddrinfo(redis->host, port, &hints, &found);
    if (error == 0) {
        memcpy(&redis->address, found->ai_addr, found->ai_addrlen);
        redis->address_length = found->ai_addrlen;
        error = getnameinfo(found->ai_addr, found->ai_addrlen, numeric,
                            sizeof numeric, NULL, 0, NI_NUMERICHOST);
        freeaddrinfo(found);
    }
    if (error != 0)
        die("the Redis host '%s' is not known (%s); use --redis with another "
            "name or an address", redis->host, gai_strerror(error));
    redis->host = strdup(numeric);
    if (redis->host == NULL)
        die("out of memory");
}

/* The soft limit of descriptors is often 1024 for the sake of programs that use
 * select(2). Ours may have what the hard limit allows. */
static int raise_descriptor_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return 1024;
    rlim_t had = limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
        limit.rlim_cur = had;
    return limit.rlim_cur < INT_MAX ? (int)limit.rlim_cur : INT_MAX;
}

/* As many clients as there are descriptors, less those for files, Redis, the
 * log: a loop that accepts its last descriptor could not serve with it. */
static int most_connections(int descriptors)
{
    return descriptors > 128 ? descriptors - 64 : descriptors / 2;
}

/* Threads share one table of descriptors, and each needs one for its client, one
 * for Redis and one for a file; even one that waits in accept(2) holds one for
 * the client to come. With too many of them nobody could open a file any more,
 * so there are fewer. What is left over is for files that workers keep open. */
static void fit_threads(struct server *server, int descriptors)
{
    unsigned takes = server->architecture->takes;
    int *threads = takes & TAKES_THREADS       ? &server->options.threads
                   : takes & TAKES_MAX_THREADS ? &server->options.max_threads
                                               : NULL;
    if (threads == NULL)
        return;
    int for_threads = descriptors - DESCRIPTORS_APART;
    int most = for_threads >= 6 ? for_threads / 3 : 2;
    if (*threads > most) {
        warn_user("the limit of %d descriptors is enough for %d threads, not "
                  "for %d; ulimit -n raises it", descriptors, most, *threads);
        *threads = most;
    }
    int kept = for_threads / *threads - 2;
    server->files_kept = (unsigned)(kept > 1 ? kept : 1);
}

/* Gives root's rights away, for good. The order matters: after setuid(2) there
 * would be no right left to change the groups. */
static void become_user(const char *name)
{
    if (name == NULL)
        return;
    struct passwd *user = getpwnam(name);
    if (user == NULL)
        die("there is no user '%s'; name one that exists with --user", name);
    if (setgroups(0, NULL) < 0 || setgid(user->pw_gid) < 0 ||
        setuid(user->pw_uid) < 0)
        die("cannot become user '%s': %s; only root can", name,
            strerror(errno));
}

static void allow_path(struct sandbox *sandbox, const char *path,
                       enum sandbox_right right)
{
    int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    sandbox_allow(sandbox, fd, right);
    close(fd);
}

/* The folder in which a SIGHUP makes the log anew. It is asked for by the log's
 * real path: the name on the command line may be a link. What is no file (a
 * terminal, a FIFO) is not rotated and needs no right. */
static void allow_log(struct sandbox *sandbox, const struct access_log *log)
{
    struct stat status;
    char *path, *slash;
    if (log->fd < 0 || fstat(log->fd, &status) < 0 ||
        !S_ISREG(status.st_mode) ||
        (path = realpath(log->path, NULL)) == NULL)
        return;
    slash = strrchr(path, '/');
    slash[slash == path ? 1 : 0] = '\0';
    allow_path(sandbox, path, SANDBOX_WRITE);
    free(path);
}

/* Gives away what is not needed any more now that all is open. */
static void enter_sandbox(const struct server *server)
{
    struct sandbox sandbox;
    sandbox_begin(&sandbox);
    sandbox_allow(&sandbox, server->public_folder, SANDBOX_READ);
    sandbox_allow(&sandbox, server->template_folder, SANDBOX_READ);
    allow_path(&sandbox, "/proc", SANDBOX_READ); /* for stats_report() */
    allow_log(&sandbox, &server->log);
    int version = sandbox_enter(&sandbox);
    if (!server->options.verbose)
        return;
    if (version > 0)
        warn_user("sandboxed by Landlock, version %d", version);
    else
        warn_user("not sandboxed: this kernel offers no Landlock");
}

void server_start(struct server *server,
                  const struct architecture *architecture, int argc,
                  char **argv, int listeners, int slots)
{
    *server = (struct server){.architecture = architecture};
    struct options *options = &server->options;
    options_parse(options, architecture, argc, argv);
    snprintf(server->signature, sizeof server->signature, "%s (%s)",
             SERVER_VERSION, architecture->name);
    int descriptors = raise_descriptor_limit();
    if (options->max_connections == 0)
        options->max_connections = most_connections(descriptors);
    fit_threads(server, descriptors);

    server->public_folder = open_folder(options->root, "public");
    server->template_folder = open_folder(options->root, "templates");
    find_pictures(server);
    resolve_redis(&options->redis);
    if (access_log_open(&server->log, options->access_log) < 0)
        die("cannot open the access log %s: %s; check the path and its rights",
            options->access_log, strerror(errno));

    int pool = architecture->takes & TAKES_THREADS ? options->threads
                                                   : options->workers;
    server->stats_slots = (unsigned)(slots > 0 ? slots : pool);
    /* MAP_SHARED | MAP_ANONYMOUS: zeroed pages that parent and children both
     * write to, where ordinary memory would be copied at the first write. */
    server->shared = mmap(NULL, sizeof *server->shared +
                          server->stats_slots * sizeof(struct stats_slot),
                          PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                          -1, 0);
    if (server->shared == MAP_FAILED)
        die("no memory for the counters: %s", strerror(errno));
    accept_turns_init(&server->shared->turns);

    server->listener_count = listeners > 0 ? listeners : pool;
    server->listeners = calloc((size_t)server->listener_count, sizeof(int));
    if (server->listeners == NULL)
        die("out of memory");
    server->port = options->port;
    for (int i = 0; i < server->listener_count; i++)
        server->listeners[i] =
            net_listen(options, &server->port, i, server->listener_count,
                       architecture->is_event_loop);
    server->backlog = net_effective_backlog(options->backlog);
    if (server->backlog < options->backlog && options->verbose)
        warn_user("the kernel cuts the backlog to %d; sysctl "
                  "net.core.somaxconn raises that", server->backlog);
    become_user(options->user);
    enter_sandbox(server);
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
    /* To a pipe, stdio would keep the line until its buffer is full. And before
     * a fork(2) the buffer must be empty, or each child would print it again. */
    fflush(stdout);
}

void server_housekeeping(const struct server *server)
{
    /* While, not if: a signal that comes during the work does not find us
     * waiting either, and is not to be left for the next time. */
    while (signals_take_report())
        stats_report(server->shared->stats, server->stats_slots);
    while (signals_take_reopen()) {
        atomic_fetch_add(&server->shared->log_generation, 1);
        if (access_log_reopen(&server->log) < 0)
            warn_user("cannot reopen the access log %s: %s; the old one is "
                      "still in use", server->log.path, strerror(errno));
    }
}

void server_say_shortage(const struct server *server, const char *format, ...)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    int64_t now_ms = (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
    int64_t last_ms = atomic_load(&server->shared->shortage_ms);
    if ((last_ms != 0 && now_ms - last_ms < SHORTAGE_SILENCE_MS) ||
        !atomic_compare_exchange_strong(&server->shared->shortage_ms, &last_ms,
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
