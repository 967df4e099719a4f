/* threaded - 04 with its own variables in sight; see sim.h. */
#define main threaded_main
int threaded_main(int argc, char **argv);
#include "04_threaded/main.c"
#undef main

#include "sim.h"

static int list_free_slots(const struct blocking_worker **slots, int most)
{
    int n = 0;
    for (const struct slot *s = free_slots; s != NULL && n < most; s = s->next)
        slots[n++] = &s->worker;
    return n;
}

const struct subject threaded = {
    .name = "threaded", .main = threaded_main, .free_slots = list_free_slots};
