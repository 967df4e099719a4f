/* Leaves processes behind: of other sessions, without a parent, deaf. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

int main(void)
{
    for (int i = 0; i < 5; i++)
        if (fork() == 0) {
            setsid();
            if (fork() != 0)
                _exit(0);
            for (int number = 1; number < 65; number++)
                signal(number, SIG_IGN);
            close(0), close(1), close(2);
            for (;;)
                pause();
        }
    puts("listening on http://127.0.0.1:1/");
    return 0;
}
