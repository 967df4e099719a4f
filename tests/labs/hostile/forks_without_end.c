/* Each process makes another, as long as it can. */
#include <unistd.h>

int main(void)
{
    for (;;)
        fork();
}
