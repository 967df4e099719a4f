/* Takes memory and uses it, in several processes. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(void)
{
    fork();
    fork();
    for (;;) {
        char *block = malloc(1 << 24);
        if (block != NULL)
            memset(block, 1, 1 << 24);
    }
}
