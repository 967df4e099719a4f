/* Linked into the servers of the address sanitizer: a thread gets the signal
 * mask of its attributes, as pthread_attr_setsigmask_np(3) says.
 *
 * The sanitizer makes the thread in our place. That of GCC 14 (LLVM's, since
 * 2023) then gives it the mask of the thread that made it, and forgets that of
 * the attributes: a worker of 05 took the signal that the main thread waits
 * for. Here the creator has that mask while it creates.
 */
#include <pthread.h>
#include <signal.h>

int __real_pthread_create(pthread_t *, const pthread_attr_t *,
                          void *(*)(void *), void *);
int __wrap_pthread_create(pthread_t *, const pthread_attr_t *,
                          void *(*)(void *), void *);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument)
{
    sigset_t wanted, before;

    pthread_sigmask(SIG_SETMASK, NULL, &before);
    if (attributes != NULL &&
        pthread_attr_getsigmask_np(attributes, &wanted) == 0)
        pthread_sigmask(SIG_SETMASK, &wanted, NULL);
    int error = __real_pthread_create(thread, attributes, start, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}
