/* Floor of 02: a process for each client.
 *
 *     forking PORT
 */
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>

#include "floor.h"

/* What the server's parent has touched of its heap before it forks: fork(2)
 * copies the page tables, and the first write to a page copies the page. */
enum { HEAP_SIZE = 32 * 1024 };

static const char bytes[] = FLOOR_ANSWER("forking", FLOOR_CLOSE);

static void reap_children(int signal_number)
{
    int saved = errno;
    (void)signal_number;
    while (waitpid(-1, NULL, WNOHANG) > 0)
        continue;
    errno = saved;
}

static void set_handler(int signal_number, void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigemptyset(&action.sa_mask);
    sigaction(signal_number, &action, NULL);
}

/* Like signals_in_child() and worker_after_fork() in common/. */
static void start_child(pid_t parent)
{
    unsigned seed;
    sigset_t set;
    for (int i = 0; i < FLOOR_SIGNALS; i++)
        set_handler(floor_signals[i], SIG_IGN, 0);
    set_handler(SIGCHLD, SIG_DFL, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    floor_signal_set(&set);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) != sizeof seed)
        _exit(1);
}

static void fork_child(int fd, char *request)
{
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid < 0)
        err(1, "fork");
    if (pid > 0) {
        close(fd);
        return;
    }
    start_child(parent);
    floor_serve(fd, (struct answer){bytes, sizeof bytes - 1}, request);
    _exit(0);
}

int main(int argc, char **argv)
{
    char *heap = malloc(HEAP_SIZE);
    if (argc != 2 || heap == NULL)
        errx(2, "usage: forking PORT");
    memset(heap, 1, HEAP_SIZE);
    int listener = floor_listen(argv[1], false);
    set_handler(SIGCHLD, reap_children, SA_NOCLDSTOP);
    for (;;) {
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0)
            fork_child(fd, heap);
    }
}
