/* Spins in more threads than there are cores, and never listens. */
#include <pthread.h>
#include <stddef.h>

static void *spin(void *nothing)
{
    volatile unsigned long n = 0;
    for (;;)
        n++;
    return nothing;
}

int main(void)
{
    pthread_t thread;
    for (int i = 0; i < 100; i++)
        pthread_create(&thread, NULL, spin, NULL);
    spin(NULL);
}
