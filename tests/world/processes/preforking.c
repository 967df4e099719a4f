/* preforking - 03 with its own variables in sight; see sim.h. */
#define main preforking_main
int preforking_main(int argc, char **argv);
#include "03_preforking/main.c"
#undef main

#include "sim.h"

const struct subject preforking = {
    .name = "preforking", .main = preforking_main, .pool = true,
    .children = true};
