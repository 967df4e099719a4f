/* Says that it listens, and ignores every signal that can be ignored. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

int main(void)
{
    for (int number = 1; number < 65; number++)
        signal(number, SIG_IGN);
    puts("listening on http://127.0.0.1:1/");
    fflush(stdout);
    for (;;)
        pause();
}
