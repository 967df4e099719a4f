/* Writes to each folder that a program can usually write to. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const folders[] = {
    ".", "/tmp", "/var/tmp", "/dev/shm", "/run", "/root", "/site", "/program"};

int main(void)
{
    static char block[1 << 16];
    char path[64];
    memset(block, 'x', sizeof block);
    for (int n = 0;; n++)
        for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
            snprintf(path, sizeof path, "%s/grade_hostile_%d", folders[i], n);
            int fd = open(path, O_WRONLY | O_CREAT, 0600);
            while (fd >= 0 && write(fd, block, sizeof block) > 0)
                ;
            close(fd);
        }
}
