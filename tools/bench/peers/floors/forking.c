/* Floor of 02: a process for each client.
 *
 *     forking PORT
 */
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "floor.h"

/* What fork(2) has to copy is as much as in the server: page tables of its
 * heap, whose pages are copied when they are written, and of the page that it
 * shares with its children to count requests. */
enum { HEAP_SIZE = REQUEST_SIZE + 4096, SHARED_SIZE = 4096 };

static const char bytes[] = FLOOR_ANSWER("forking", FLOOR_CLOSE);
static pid_t parent;

static void reap_children(int signal_number)
{
    int saved = errno;
    (void)signal_number;
    while (waitpid(0, NULL, WNOHANG) > 0)
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

/* Returns memory for a request. */
static char *touch_memory(void)
{
    char *heap = malloc(HEAP_SIZE);
    char *shared = mmap(NULL, SHARED_SIZE, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (heap == NULL || shared == MAP_FAILED)
        err(1, "memory");
    memset(heap, 1, HEAP_SIZE);
    memset(shared, 1, SHARED_SIZE);
    return heap;
}

int main(int argc, char **argv)
{
    if (argc != 2)
        errx(2, "usage: forking PORT");
    char *request = touch_memory();
    int listener = floor_listen(argv[1], FLOOR_PLAIN);
    signal(SIGCHLD, reap_children);
    parent = getpid();
    for (;;) {
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0)
            fork_child(fd, request);
    }
}
