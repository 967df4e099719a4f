/* What the peers written in C and C++ share: several processes, the pictures
 * of /redirect and the body of /echo.
 */
#ifndef PEER_H
#define PEER_H

#include <err.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Forks WORKERS - 1 copies of this process, which end when it ends. */
static inline void peer_fork_workers(unsigned long workers)
{
    for (unsigned long i = 1; i < workers; i++) {
        pid_t pid = fork();

        if (pid < 0)
            err(1, "fork");
        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGTERM);
            return;
        }
    }
}

static const char *const peer_pictures[] = {
    "/pictures/iterative.svg",
    "/pictures/forking.svg",
    "/pictures/threaded.svg",
    "/pictures/epoll.svg",
};
enum {
    PEER_PICTURES = sizeof peer_pictures / sizeof *peer_pictures
};

/* The index of one of the pictures, at random. */
static inline int peer_random_picture(void)
{
    return (int)(random() % PEER_PICTURES);
}

/* The body of /echo for a decoded value, or for none (NULL). The caller frees
 * it; NULL where there is no memory. */
static inline char *peer_echo(const char *value)
{
    const char *before = "<http_test><value>";
    const char *after = "</value></http_test>";
    char *body, *to;

    if (value == NULL)
        return strdup("<http_test><error>no value specified"
                      "</error></http_test>");
    /* No character grows longer than "&amp;". */
    body = (char *)malloc(strlen(before) + strlen(value) * strlen("&amp;") +
                          strlen(after) + 1);
    if (body == NULL)
        return NULL;
    to = stpcpy(body, before);
    for (; *value != '\0'; value++) {
        if (*value == '&')
            to = stpcpy(to, "&amp;");
        else if (*value == '<')
            to = stpcpy(to, "&lt;");
        else if (*value == '>')
            to = stpcpy(to, "&gt;");
        else
            *to++ = *value;
    }
    stpcpy(to, after);
    return body;
}

#endif
