// touch.c - a library that is loaded before a server (LD_PRELOAD) and gives it TOUCH_MIB MiB of
// memory that it has written to, as a server with a large cache has.
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

__attribute__((constructor)) static void touch(void)
{
    const char *text = getenv("TOUCH_MIB");
    size_t size = text ? strtoul(text, NULL, 10) << 20 : 0;
    if (size == 0)
        return;
    // Pages of 4 KiB: of huge ones, fork() would copy one entry for 512.
    uint8_t *memory =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || madvise(memory, size, MADV_NOHUGEPAGE) != 0)
        _exit(1);
    for (size_t i = 0; i < size; i += 4096)
        memory[i] = 1;
}
