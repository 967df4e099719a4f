/* Prints without end, on both outputs, what a terminal would act on. */
#include <string.h>
#include <unistd.h>

int main(void)
{
    static char block[1 << 16];
    memset(block, '\033', sizeof block);
    for (;;) {
        (void)!write(1, block, sizeof block);
        (void)!write(2, block, sizeof block);
    }
}
