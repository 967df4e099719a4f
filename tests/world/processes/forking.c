/* forking - 02 with its own variables in sight; see sim.h. */
#define main forking_main
int forking_main(int argc, char **argv);
#include "02_forking/main.c"
#undef main

#include "sim.h"

const struct subject forking = {
    .name = "forking", .main = forking_main, .children = true};
