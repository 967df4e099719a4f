/* options - the command line; see options.h. */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "fatal.h"
#include "server.h"

/* Long options without a letter of their own. */
enum {
    OPT_REDIS = 256, OPT_PIPELINE, OPT_KEEP_ALIVE, OPT_REQUEST_TIMEOUT,
    OPT_DRAIN_TIMEOUT, OPT_MAX_CONNECTIONS, OPT_MAX_CHILDREN, OPT_MAX_THREADS,
    OPT_ACCESS_LOG, OPT_USER
};

static const struct option long_options[] = {
    {"port", required_argument, NULL, 'p'},
    {"host", required_argument, NULL, 'H'},
    {"root", required_argument, NULL, 'r'},
    {"backlog", required_argument, NULL, 'b'},
    {"workers", required_argument, NULL, 'w'},
    {"threads", required_argument, NULL, 't'},
    {"max-children", required_argument, NULL, OPT_MAX_CHILDREN},
    {"max-threads", required_argument, NULL, OPT_MAX_THREADS},
    {"max-connections", required_argument, NULL, OPT_MAX_CONNECTIONS},
    {"redis", required_argument, NULL, OPT_REDIS},
    {"pipeline", no_argument, NULL, OPT_PIPELINE},
    {"keep-alive", required_argument, NULL, OPT_KEEP_ALIVE},
    {"request-timeout", required_argument, NULL, OPT_REQUEST_TIMEOUT},
    {"drain-timeout", required_argument, NULL, OPT_DRAIN_TIMEOUT},
    {"access-log", required_argument, NULL, OPT_ACCESS_LOG},
    {"user", required_argument, NULL, OPT_USER},
    {"quiet", no_argument, NULL, 'q'},
    {"verbose", no_argument, NULL, 'v'},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'V'},
    {0},
};

static void print_help(const struct architecture *architecture)
{
    printf(
        "Usage: %s [OPTION]... [PORT [REDIS_HOST]]\n"
        "A web server with the %s architecture.\n"
        "See docs/%s.md.\n"
        "\n"
        "  -p, --port N             listen on port N; 0: any free one (%d)\n"
        "  -H, --host ADDRESS       listen on this address (127.0.0.1)\n"
        "  -r, --root DIR           where public/ and templates/ are (.)\n"
        "  -b, --backlog N          length of the accept queue (%d)\n"
        "      --redis WHERE        HOST:PORT, unix:PATH or none "
        "(127.0.0.1:6379)\n"
        "      --pipeline           send a page's Redis commands together\n"
        "      --keep-alive SEC     keep an idle connection this long; 0: never"
        " (5)\n"
        "      --request-timeout S  time for a request to arrive whole (10)\n"
        "      --drain-timeout SEC  time to finish in when stopped (10)\n"
        "      --access-log FILE    a line for each answer; - for standard "
        "output\n"
        "      --user NAME          become this user once the port is open\n"
        "  -q, --quiet              print errors only\n"
        "  -v, --verbose            print more\n"
        "  -h, --help               print this and exit\n"
        "  -V, --version            print the version and exit\n",
        architecture->name, architecture->name, architecture->folder,
        DEFAULT_PORT, DEFAULT_BACKLOG);
    if (architecture->takes & TAKES_WORKERS)
        printf("  -w, --workers N          processes that serve (%d)\n",
               architecture->workers);
    if (architecture->takes & TAKES_THREADS)
        printf("  -t, --threads N          threads that serve (%d)\n",
               DEFAULT_THREADS);
    if (architecture->takes & TAKES_MAX_CHILDREN)
        printf("      --max-children N     children at a time (%d)\n",
               DEFAULT_MAX_CHILDREN);
    if (architecture->takes & TAKES_MAX_THREADS)
        printf("      --max-threads N      threads at a time (%d)\n",
               DEFAULT_MAX_THREADS);
    if (architecture->takes & TAKES_MAX_CONNECTIONS)
        printf("      --max-connections N  clients at a time; more wait in the "
               "accept\n                           queue (as many as "
               "descriptors allow)\n");
    printf("\nSIGINT, SIGTERM: finish what is being served, report, exit. "
           "SIGUSR1: report.\nSIGHUP: reopen the access log.\n");
}

static int parse_int(const char *name, const char *text, long low, long high)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < low ||
        value > high)
        die_usage("%s must be a whole number from %ld to %ld, not '%s'", name,
                  low, high, text);
    return (int)value;
}

static int parse_seconds(const char *name, const char *text, double low)
{
    char *end;
    errno = 0;
    double value = strtod(text, &end);
    /* Written so that NaN fails too. */
    if (errno != 0 || end == text || *end != '\0' ||
        !(value >= low && value <= 86400))
        die_usage("%s must be a number of seconds from %g to 86400, not '%s'",
                  name, low, text);
    return (int)(value * 1000 + 0.5);
}

/* HOST, HOST:PORT, and for an IPv6 address also [HOST]:PORT (RFC 3986, 3.2.2),
 * since without brackets the end of the address is ambiguous. */
static void parse_redis(struct redis_address *redis, char *text)
{
    const size_t path_room = sizeof((struct sockaddr_un *)NULL)->sun_path;
    *redis = (struct redis_address){.port = 6379};
    if (strcmp(text, "none") == 0) {
        redis->none = true;
        return;
    }
    if (strncmp(text, "unix:", 5) == 0 && text[5] != '\0') {
        redis->path = text + 5;
        if (strlen(redis->path) >= path_room)
            die_usage("the path of a unix socket has at most %zu bytes; give "
                      "--redis a shorter one, or a symbolic link",
                      path_room - 1);
        return;
    }
    redis->host = text;
    char *colon = strrchr(text, ':'), *bracket = strrchr(text, ']');
    if (text[0] == '[' && bracket != NULL &&
        (bracket[1] == ':' || bracket[1] == '\0')) {
        redis->host = text + 1;
        colon = bracket[1] == ':' ? bracket + 1 : NULL;
        *bracket = '\0';
    } else if (strchr(text, ':') != colon) { /* an IPv6 address alone */
        colon = NULL;
    }
    if (colon != NULL) {
        redis->port = parse_int("the port in --redis", colon + 1, 1, 65535);
        *colon = '\0';
    }
    if (redis->host[0] == '\0')
        die_usage("--redis takes HOST:PORT, unix:PATH or none");
}

/* Each architecture has its own limit. Explains why another's does not apply. */
static void refuse_inapplicable(const struct architecture *architecture,
                                unsigned wanted)
{
    static const struct {
        unsigned bit;
        const char *option, *why;
    } rules[] = {
        {TAKES_WORKERS, "--workers",
         "it is for 03_preforking and 07_epoll, which have worker processes"},
        {TAKES_THREADS, "--threads",
         "it is for 05_prethreaded, which has a pool of threads"},
        {TAKES_MAX_CHILDREN, "--max-children",
         "it is for 02_forking, which makes a child for each connection"},
        {TAKES_MAX_THREADS, "--max-threads",
         "it is for 04_threaded, which makes a thread for each connection"},
        {TAKES_MAX_CONNECTIONS, "--max-connections",
         "it is for 06_poll and 07_epoll; the others serve as many connections "
         "as they have processes or threads"},
    };
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if ((wanted & rules[i].bit) && !(architecture->takes & rules[i].bit))
            die_usage("%s does not apply to %s: %s", rules[i].option,
                      architecture->folder, rules[i].why);
}

void options_parse(struct options *o, const struct architecture *architecture,
                   int argc, char **argv)
{
    unsigned wanted = 0;
    int c;
    *o = (struct options){
        .host = "127.0.0.1",
        .port = DEFAULT_PORT,
        .root = ".",
        .backlog = DEFAULT_BACKLOG,
        .workers = architecture->workers,
        .threads = DEFAULT_THREADS,
        .max_children = DEFAULT_MAX_CHILDREN,
        .max_threads = DEFAULT_MAX_THREADS,
        .redis = {.host = "127.0.0.1", .port = 6379},
        .keep_alive_ms = 5000,
        .request_timeout_ms = 10000,
        .drain_timeout_ms = 10000,
    };
    while ((c = getopt_long(argc, argv, "p:H:r:b:w:t:qvhV", long_options,
                            NULL)) != -1) {
        switch (c) {
        case 'p': o->port = parse_int("--port", optarg, 0, 65535); break;
        case 'H': o->host = optarg; break;
        case 'r': o->root = optarg; break;
        case 'b': o->backlog = parse_int("--backlog", optarg, 1, INT_MAX); break;
        case 'w':
            o->workers = parse_int("--workers", optarg, 1, 1024);
            wanted |= TAKES_WORKERS;
            break;
        case 't':
            o->threads = parse_int("--threads", optarg, 1, 16384);
            wanted |= TAKES_THREADS;
            break;
        case OPT_MAX_CHILDREN:
            o->max_children = parse_int("--max-children", optarg, 1, 32768);
            wanted |= TAKES_MAX_CHILDREN;
            break;
        case OPT_MAX_THREADS:
            o->max_threads = parse_int("--max-threads", optarg, 1, 16384);
            wanted |= TAKES_MAX_THREADS;
            break;
        case OPT_MAX_CONNECTIONS:
            o->max_connections =
                parse_int("--max-connections", optarg, 1, INT_MAX);
            wanted |= TAKES_MAX_CONNECTIONS;
            break;
        case OPT_REDIS: parse_redis(&o->redis, optarg); break;
        case OPT_PIPELINE: o->pipeline = true; break;
        case OPT_KEEP_ALIVE:
            o->keep_alive_ms = parse_seconds("--keep-alive", optarg, 0);
            break;
        case OPT_REQUEST_TIMEOUT:
            o->request_timeout_ms =
                parse_seconds("--request-timeout", optarg, 0.001);
            break;
        case OPT_DRAIN_TIMEOUT:
            o->drain_timeout_ms = parse_seconds("--drain-timeout", optarg, 0);
            break;
        case OPT_ACCESS_LOG: o->access_log = optarg; break;
        case OPT_USER: o->user = optarg; break;
        case 'q': o->quiet = true; break;
        case 'v': o->verbose = true; break;
        case 'h': print_help(architecture); exit(0);
        case 'V':
            printf("%s (%s)\n", SERVER_VERSION, architecture->name);
            exit(0);
        default: /* getopt_long has printed what is wrong */
            fprintf(stderr, "Try '%s --help'.\n", architecture->name);
            exit(2);
        }
    }
    refuse_inapplicable(architecture, wanted);
    /* The article's form: ./epoll 8000 redis.example.org */
    if (optind < argc)
        o->port = parse_int("PORT", argv[optind++], 0, 65535);
    if (optind < argc)
        parse_redis(&o->redis, argv[optind++]);
    if (optind < argc)
        die_usage("unexpected argument '%s'; the usage is "
                  "[OPTION]... [PORT [REDIS_HOST]]", argv[optind]);
}
