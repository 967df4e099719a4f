/* options - the command line; see options.h. */
#include "options.h"

#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/un.h>

#include "fatal.h"

enum kind { INTEGER, SECONDS, TEXT, FLAG, REDIS, HELP, VERSION };

/* The servers that have an option. */
enum { MOST_OWNERS = 2 };
struct owners {
    const char *folders[MOST_OWNERS];
    const char *why; /* names them, and says why they have it */
};

static const struct owners
    processes = {{"03_preforking", "07_epoll"},
                 "03_preforking and 07_epoll, which have worker processes"},
    thread_pool = {{"05_prethreaded"},
                   "05_prethreaded, which has a pool of threads"},
    forking = {{"02_forking"},
               "02_forking, which makes a child for each connection"},
    threaded = {{"04_threaded"},
                "04_threaded, which makes a thread for each connection"},
    loops = {{"06_poll", "07_epoll"},
             "06_poll and 07_epoll, whose workers each serve many"};

struct rule {
    const char *letter;   /* "-p"; blank if it has a long name only */
    const char *name;     /* "--port" */
    const char *argument; /* its name in the help, NULL if it takes none */
    enum kind kind;
    size_t offset;        /* of the member in struct options */
    double low, high;
    const char *help;
    const struct owners *owners; /* NULL: all servers have it */
};

#define TO(member) offsetof(struct options, member)

/* One line for each option. getopt_long(3), the help and all checks use
 * it. */
static const struct rule rules[] = {
    {"-p", "--port", "N", INTEGER, TO(port), 0, 65535,
     "listen on port N; 0: any free one (8000)", NULL},
    {"-H", "--host", "ADDRESS", TEXT, TO(host), 0, 0,
     "listen on this address (127.0.0.1)", NULL},
    {"-r", "--root", "DIR", TEXT, TO(root), 0, 0,
     "where public/ and templates/ are (.)", NULL},
    {"-b", "--backlog", "N", INTEGER, TO(backlog), 1, INT_MAX,
     "length of the accept queue (4096)", NULL},
    {"-w", "--workers", "N", INTEGER, TO(workers), 1, 1024, "worker processes",
     &processes},
    {"-t", "--threads", "N", INTEGER, TO(threads), 1, 16384,
     "worker threads (100)", &thread_pool},
    {"  ", "--max-children", "N", INTEGER, TO(max_children), 1, 32768,
     "most children that run together (128)", &forking},
    {"  ", "--max-threads", "N", INTEGER, TO(max_threads), 1, 16384,
     "most threads that run together (256)", &threaded},
    {"  ", "--max-connections", "N", INTEGER, TO(max_connections), 1, INT_MAX,
     "most clients (3/4 of the descriptors)", &loops},
    {"  ", "--redis", "WHERE", REDIS, TO(redis), 0, 0,
     "HOST:PORT, unix:PATH or none (127.0.0.1:6379)", NULL},
    {"  ", "--pipeline", NULL, FLAG, TO(pipeline), 0, 0,
     "send a page's Redis commands together", NULL},
    {"  ", "--compute", NULL, FLAG, TO(compute), 0, 0,
     "have /compute?ms=N, which uses CPU time", NULL},
    {"  ", "--keep-alive", "SEC", SECONDS, TO(keep_alive_ms), 0, 86400,
     "keep an idle connection this long; 0: never (5)", NULL},
    {"  ", "--request-timeout", "SEC", SECONDS, TO(request_timeout_ms), 0.001,
     86400, "for a request; twice that for its answer (10)", NULL},
    {"  ", "--drain-timeout", "SEC", SECONDS, TO(drain_timeout_ms), 0, 86400,
     "time to finish requests when stopped (10)", NULL},
    {"  ", "--access-log", "FILE", TEXT, TO(access_log), 0, 0,
     "a line for each answer; - for standard output", NULL},
    {"  ", "--user", "NAME", TEXT, TO(user), 0, 0,
     "become this user once the port is open", NULL},
    {"-q", "--quiet", NULL, FLAG, TO(quiet), 0, 0, "print errors only", NULL},
    {"-v", "--verbose", NULL, FLAG, TO(verbose), 0, 0, "print more", NULL},
    {"-h", "--help", NULL, HELP, 0, 0, 0, "print this and exit", NULL},
    {"-V", "--version", NULL, VERSION, 0, 0, 0, "print version and exit", NULL},
};

enum { RULES = sizeof rules / sizeof rules[0], LONG_OPTION = 256 };

/* The letters of these rules; a colon follows one that takes an
 * argument. */
#define LETTERS "p:H:r:b:w:t:qvhV"

static bool applies(const struct rule *r, const char *folder)
{
    if (r->owners == NULL)
        return true;
    for (int i = 0; i < MOST_OWNERS; i++)
        if (r->owners->folders[i] != NULL &&
            strcmp(r->owners->folders[i], folder) == 0)
            return true;
    return false;
}

static void print_help(const struct architecture *architecture)
{
    printf("Usage: %s [OPTION]... [PORT [REDIS_HOST]]\n"
           "The %s web server; its chapter is docs/read/%s.md.\n\n",
           architecture->name, architecture->name, architecture->folder);
    for (const struct rule *r = rules; r < rules + RULES; r++)
        if (applies(r, architecture->folder))
            printf("  %s%c %s %-*s%s\n", r->letter,
                   r->letter[0] == '-' ? ',' : ' ', r->name,
                   (int)(25 - strlen(r->name)),
                   r->argument ? r->argument : "", r->help);
    printf("\nSIGINT, SIGTERM: finish requests, report, exit. SIGUSR1: report. "
           "SIGHUP: reopen\nthe access log.\n");
}

static double parse_number(const char *name, const char *text, bool whole,
                           double low, double high)
{
    char *end;
    double value = strtod(text, &end);
    /* Written so that NaN fails too. */
    if (end == text || *end != '\0' || !(value >= low && value <= high) ||
        (whole && text[strspn(text, "0123456789")] != '\0'))
        die_usage("%s must be a %s from %.10g to %.10g, not '%s'", name,
                  whole ? "whole number" : "number of seconds", low, high,
                  text);
    return value;
}

/* HOST, HOST:PORT, and for IPv6 also [HOST]:PORT (RFC 3986, 3.2.2), because
 * without the brackets the end of the address is ambiguous. */
static void parse_redis(struct redis_address *redis, char *text)
{
    const size_t path_size = sizeof((struct sockaddr_un *)NULL)->sun_path;
    char *colon = strrchr(text, ':'), *bracket = strrchr(text, ']');
    *redis = (struct redis_address){.port = 6379, .host = text,
                                    .none = strcmp(text, "none") == 0};
    if (strncmp(text, "unix:", 5) == 0 && text[5] != '\0') {
        redis->path = text + 5;
        if (strlen(redis->path) >= path_size)
            die_usage("the path of a unix socket has at most %zu bytes; give "
                      "--redis a shorter one, or a symbolic link",
                      path_size - 1);
        return;
    }
    if (text[0] == '[' && bracket != NULL) {
        redis->host = text + 1;
        *bracket = '\0';
        colon = NULL;
        if (bracket[1] != '\0')
            colon = bracket + 1;
    } else if (strchr(text, ':') != colon) { /* an IPv6 address alone */
        colon = NULL;
    }
    if (colon != NULL) {
        redis->port = (int)parse_number("the port in --redis", colon + 1, true,
                                        1, 65535);
        *colon = '\0';
    }
    if (redis->host[0] == '\0')
        die_usage("--redis takes HOST:PORT, unix:PATH or none");
}

static void apply(struct options *options, const struct rule *r, char *text,
                  const struct architecture *architecture)
{
    void *member = (char *)options + r->offset;
    double number;
    if (!applies(r, architecture->folder))
        die_usage("%s does not apply to %s: it is for %s", r->name,
                  architecture->folder, r->owners->why);
    switch (r->kind) {
    case INTEGER:
    case SECONDS:
        number = parse_number(r->name, text, r->kind == INTEGER, r->low,
                              r->high);
        if (r->kind == SECONDS)
            number = number * 1000 + 0.5; /* to the nearest ms */
        *(int *)member = (int)number;
        break;
    case TEXT: *(const char **)member = text; break;
    case FLAG: *(bool *)member = true; break;
    case REDIS: parse_redis(member, text); break;
    case HELP: print_help(architecture); exit(0);
    case VERSION:
        printf("%s (%s)\n", SERVER_VERSION, architecture->name);
        exit(0);
    }
}

/* Returns the rule that getopt_long(3) found: it returns the letter of a
 * short option, and what options_parse() gave it for a long one. */
static const struct rule *find_rule(int found)
{
    for (int i = 0; i < RULES; i++)
        if (found == LONG_OPTION + i || found == rules[i].letter[1])
            return &rules[i];
    return NULL; /* it returns no other */
}

void options_parse(struct options *o, const struct architecture *architecture,
                   int argc, char **argv)
{
    struct option long_options[RULES + 1] = {{0}};
    int c;
    *o = (struct options){
        .host = "127.0.0.1", .port = 8000, .root = ".", .backlog = 4096,
        .workers = architecture->workers, .threads = architecture->threads,
        .max_children = 128, .max_threads = 256,
        .redis = {.host = "127.0.0.1", .port = 6379},
        .keep_alive_ms = 5000, .request_timeout_ms = 10000,
        .drain_timeout_ms = 10000,
    };
    for (int i = 0; i < RULES; i++)
        long_options[i] = (struct option){
            rules[i].name + 2, rules[i].argument != NULL, NULL,
            LONG_OPTION + i};
    while ((c = getopt_long(argc, argv, LETTERS, long_options, NULL)) != -1) {
        if (c == '?') { /* getopt_long has printed what is wrong */
            fprintf(stderr, "Try '%s --help'.\n", architecture->name);
            exit(2);
        }
        apply(o, find_rule(c), optarg, architecture);
    }
    /* The short form of the article that this collection follows. */
    if (optind < argc)
        o->port = (int)parse_number("PORT", argv[optind++], true, 0, 65535);
    if (optind < argc)
        parse_redis(&o->redis, argv[optind++]);
    if (optind < argc)
        die_usage("unexpected argument '%s'; the usage is [OPTION]... "
                  "[PORT [REDIS_HOST]]", argv[optind]);
}
