/* Floor of 01: one process, one client after the other.
 *
 *     iterative PORT
 */
#include "floor.h"

static const char bytes[] = FLOOR_ANSWER("iterative", FLOOR_CLOSE);

int main(int argc, char **argv)
{
    if (argc != 2)
        errx(2, "usage: iterative PORT");
    floor_serve_clients(floor_listen(argv[1], FLOOR_KEEPS_FILES),
                        (struct answer){bytes, sizeof bytes - 1});
}
