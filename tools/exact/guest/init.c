// init.c - the first process of the exact machine: it does what the file /plan says and
// switches the machine off.
//
// A line of the plan is one of
//
//     symbols                      print what the kernel's functions are called
//     maps                         print where the server's code is
//     redis WORD...                start Redis with this command line
//     server WORD...               start the server, and wait until it says that it listens
//     peer WORD...                 start a server that does not say so, and try until it does
//     environment NAME VALUE       set a variable for all that is started from now on
//     descriptors N                let each process that starts from now on have N (20,000)
//     packets N                    let N packets wait for the core (1,000)
//     idle N                       open N connections that never ask
//     cell FILE N...               run a cell; the numbers are those of struct cell
//     memory                       print how much memory the server's processes have
//     stop                         end the server and the idle connections
//
// All that it and its children print goes to port 0xe9, which QEMU writes into a file: a
// byte costs one instruction, where a serial line costs hundreds.
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/io.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "guest.h"

enum { MAX_WORDS = 40, OUTPUT_PORT = 0xe9 };

static pid_t server = -1, holder = -1;

static void put(const char *data, size_t length)
{
    __asm__ volatile("rep outsb" : "+S"(data), "+c"(length) : "d"(OUTPUT_PORT) : "memory");
}

static void say(const char *format, ...)
{
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (n > 0)
        put(line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
}

_Noreturn void fail(const char *what)
{
    const char *why = errno ? strerror(errno) : "";
    if (getpid() != 1) {
        fprintf(stderr, "failed: %s: %s\n", what, why);
        exit(1);
    }
    say("failed: %s: %s\n", what, why);
    reboot(RB_POWER_OFF);
    for (;;)
        pause();
}

void join_group(const char *name)
{
    char path[64];
    snprintf(path, sizeof path, CGROUPS "/%s/cgroup.procs", name);
    int fd = open(path, O_WRONLY);
    if (fd < 0 || write(fd, "0", 1) != 1)
        fail(path);
    close(fd);
}

static void mount_or_fail(const char *what, const char *where, const char *options)
{
    if ((mkdir(where, 0755) != 0 && errno != EEXIST) || mount(what, where, what, 0, options) != 0)
        fail(where);
}

static void limit_descriptors(rlim_t count)
{
    const struct rlimit descriptors = {count, count};
    if (setrlimit(RLIMIT_NOFILE, &descriptors) != 0)
        fail("setrlimit");
}

// What is sent over loopback waits in a queue of the core. If a server keeps many connections
// alive by probes, the timers of thousands end in the same tick; what finds the queue full is lost.
static void let_wait(const char *packets)
{
    const char *path = "/proc/sys/net/core/netdev_max_backlog";
    int fd = open(path, O_WRONLY);
    if (fd < 0 || write(fd, packets, strlen(packets)) <= 0)
        fail(path);
    close(fd);
}

static void set_up(void)
{
    mount_or_fail("proc", "/proc", NULL);
    mount_or_fail("sysfs", "/sys", NULL);
    mount_or_fail("devtmpfs", "/dev", NULL);
    mount_or_fail("tmpfs", "/tmp", NULL);
    // The kernel may have found no console for these.
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; fd++)
        if (null < 0 || dup2(null, fd) < 0)
            fail("/dev/null");
    if (null > 2)
        close(null);
    mount_or_fail("cgroup", CGROUPS, "cpuacct");
    for (const char **name = (const char *[]){"server", "redis", "load", NULL}; *name; name++) {
        char path[64];
        snprintf(path, sizeof path, CGROUPS "/%s", *name);
        if (mkdir(path, 0755) != 0)
            fail(path);
    }
    limit_descriptors(20000);

    // The loopback interface is down until someone sets it up.
    struct ifreq loopback = {.ifr_name = "lo", .ifr_flags = IFF_UP};
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &loopback) != 0)
        fail("the loopback interface");
    close(fd);
}

// Copies what comes from a pipe to the output, until it is closed or holds `until`.
static void relay(FILE *from, const char *until)
{
    char line[4096];
    while (fgets(line, sizeof line, from)) {
        put(line, strlen(line));
        if (until && strstr(line, until))
            return;
    }
    if (until) {
        errno = 0;
        fail("the program ended before it was ready");
    }
}

// Starts a child with its output in *from, in a control group. Returns 0 in the child.
static pid_t start(FILE **from, const char *group)
{
    int ends[2];
    if (pipe(ends) != 0)
        fail("pipe");
    pid_t pid = fork();
    if (pid < 0)
        fail("fork");
    if (pid == 0) {
        if (dup2(ends[1], 1) < 0 || dup2(ends[1], 2) < 0)
            _exit(1);
        close(ends[0]);
        close(ends[1]);
        ioperm(OUTPUT_PORT, 1, 0); // a task with rights to ports costs more to switch to
        join_group(group);
        return 0;
    }
    close(ends[1]);
    *from = fdopen(ends[0], "r");
    if (!*from)
        fail("fdopen");
    return pid;
}

static void run(char **words)
{
    execv(words[0], words);
    fail(words[0]);
}

static void start_redis(char **words)
{
    FILE *from;
    if (start(&from, "redis") == 0) {
        MARK(MARK_REDIS);
        run(words);
    }
    relay(from, "Ready to accept connections");
}

// Tries to connect until someone listens, for ten seconds; then prints what the server said.
static void await_listener(FILE *from)
{
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons(PORT),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};
    for (int i = 0; i < 1000; i++) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        if (fd < 0)
            fail("socket");
        int failed = connect(fd, (const struct sockaddr *)&address, sizeof address);
        close(fd);
        if (!failed)
            return;
        nanosleep(&pause, NULL);
    }
    if (fcntl(fileno(from), F_SETFL, O_NONBLOCK) == 0)
        relay(from, NULL);
    fail("the server does not listen");
}

static void start_server(char **words, int says_when)
{
    FILE *from;
    server = start(&from, "server");
    if (server == 0) {
        MARK(MARK_SERVER);
        run(words);
    }
    if (says_when)
        relay(from, "listening on");
    else
        await_listener(from);
}

static void hold_idle(int count)
{
    FILE *from;
    holder = start(&from, "load");
    if (holder == 0) {
        MARK(MARK_HOLDER);
        for (int i = 0; i < count; i++)
            connect_to_server(i);
        puts("connected");
        fflush(stdout);
        for (;;)
            pause();
    }
    relay(from, "connected");
    fclose(from);
}

static void load(char **words)
{
    struct cell cell = {.request = words[0]};
    int *numbers[] = {&cell.connections, &cell.keep, &cell.pipelined,
                      &cell.warm_up, &cell.windows, &cell.requests};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        *numbers[i] = words[i + 1] ? (int)strtol(words[i + 1], NULL, 10) : 0;
    say("cell %s\n", words[0]);
    FILE *from;
    pid_t pid = start(&from, "load");
    if (pid == 0) {
        MARK(MARK_LOAD);
        run_cell(&cell);
        _exit(0); // exit() would move the position in the plan, which we share
    }
    relay(from, NULL);
    fclose(from);
    int status;
    if (waitpid(pid, &status, 0) != pid || status != 0) {
        errno = 0;
        fail("the load did not end well");
    }
    MARK(MARK_LOAD_ENDED);
}

static void end(pid_t *pid)
{
    if (*pid > 0 && (kill(*pid, SIGTERM) != 0 || waitpid(*pid, NULL, 0) != *pid))
        fail("ending a process");
    *pid = -1;
}

static void print_file(const char *title, const char *path)
{
    FILE *file = fopen(path, "r");
    if (!file)
        fail(path);
    say("%s\n", title);
    relay(file, NULL);
    say("end of %s\n", title);
    fclose(file);
}

// Where the server's programs and libraries are in its memory.
static void print_maps(void)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/maps", (int)server);
    print_file("maps", path);
}

// Returns the proportional set size of a process (proc_pid_smaps(5)), in KiB.
static long memory_of(long pid)
{
    char path[64], line[256];
    snprintf(path, sizeof path, "/proc/%ld/smaps_rollup", pid);
    FILE *file = fopen(path, "r");
    if (!file)
        fail(path);
    long kib = -1;
    while (kib < 0 && fgets(line, sizeof line, file))
        if (strncmp(line, "Pss:", 4) == 0)
            kib = strtol(line + 4, NULL, 10);
    fclose(file);
    return kib;
}

static void print_memory(void)
{
    FILE *pids = fopen(CGROUPS "/server/cgroup.procs", "r");
    if (!pids)
        fail("cgroup.procs");
    long sum = 0;
    for (char line[32]; fgets(line, sizeof line, pids);)
        sum += memory_of(strtol(line, NULL, 10));
    fclose(pids);
    say("memory %ld\n", sum);
}

static void obey(char **words)
{
    if (strcmp(words[0], "symbols") == 0)
        print_file("symbols", "/proc/kallsyms");
    else if (strcmp(words[0], "maps") == 0)
        print_maps();
    else if (strcmp(words[0], "redis") == 0)
        start_redis(words + 1);
    else if (strcmp(words[0], "server") == 0)
        start_server(words + 1, 1);
    else if (strcmp(words[0], "peer") == 0)
        start_server(words + 1, 0);
    else if (strcmp(words[0], "idle") == 0)
        hold_idle(words[1] ? (int)strtol(words[1], NULL, 10) : 0);
    else if (strcmp(words[0], "descriptors") == 0)
        limit_descriptors(words[1] ? (rlim_t)strtol(words[1], NULL, 10) : 0);
    else if (strcmp(words[0], "packets") == 0)
        let_wait(words[1] ? words[1] : "");
    else if (strcmp(words[0], "memory") == 0)
        print_memory();
    else if (strcmp(words[0], "environment") == 0)
        setenv(words[1], words[2] ? words[2] : "", 1);
    else if (strcmp(words[0], "cell") == 0)
        load(words + 1);
    else if (strcmp(words[0], "stop") == 0) {
        end(&holder);
        end(&server);
        MARK(MARK_SERVER_ENDED);
    } else {
        errno = 0;
        fail(words[0]);
    }
}

int main(void)
{
    MARK(MARK_OTHER);
    if (ioperm(OUTPUT_PORT, 1, 1) != 0)
        return 1; // the kernel panics, and QEMU ends
    set_up();
    FILE *plan = fopen("/plan", "r");
    if (!plan)
        fail("/plan");
    for (char line[4096]; fgets(line, sizeof line, plan);) {
        char *words[MAX_WORDS + 1] = {NULL}, *rest = NULL;
        int n = 0;
        for (char *word = strtok_r(line, " \n", &rest); word && n < MAX_WORDS;
             word = strtok_r(NULL, " \n", &rest))
            words[n++] = word;
        if (n > 0)
            obey(words);
    }
    say("done\n");
    reboot(RB_POWER_OFF);
    for (;;)
        pause();
}
