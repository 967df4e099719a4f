/* epoll - 07 with its own variables in sight; see sim.h. */
#define main epoll_main
int epoll_main(int argc, char **argv);
#include "07_epoll/main.c"
#undef main

#include "sim.h"

const struct subject epoll = {
    .name = "epoll", .main = epoll_main, .pool = true, .children = true};
