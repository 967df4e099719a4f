/* Floor of 02: a process for each client.
 *
 *     forking PORT
 */
#include <sys/prctl.h>
#include <sys/wait.h>

#include "floor.h"

static const char bytes[] = FLOOR_ANSWER("forking", FLOOR_CLOSE);
static pid_t parent;

static void reap_children(int signal_number)
{
    int saved = errno;
    (void)signal_number;
    while (waitpid(-1, NULL, WNOHANG) > 0)
        continue;
    errno = saved;
}

/* Like signals_in_child() in common/signals.c. */
static void start_child(void)
{
    sigset_t set;
    floor_signal_set(&set);
    sigprocmask(SIG_BLOCK, &set, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
}

static void fork_child(int fd, char *request)
{
    pid_t pid = fork();
    if (pid < 0)
        err(1, "fork");
    if (pid > 0) {
        close(fd);
        return;
    }
    start_child();
    floor_serve(fd, (struct answer){bytes, sizeof bytes - 1}, request);
    _exit(0);
}

int main(int argc, char **argv)
{
    char *request = malloc(REQUEST_SIZE);
    if (argc != 2 || request == NULL)
        errx(2, "usage: forking PORT");
    /* The server's parent has touched as much of its heap: fork(2) copies the
     * page tables, and the first write to a page copies the page. */
    memset(request, 1, REQUEST_SIZE);
    int listener = floor_listen(argv[1], false);
    signal(SIGCHLD, reap_children);
    parent = getpid();
    for (;;) {
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0)
            fork_child(fd, request);
    }
}
