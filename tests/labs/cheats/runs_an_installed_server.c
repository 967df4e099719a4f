/* Becomes a server that it finds on the machine. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    (void)argc;
    static const char *const folders[] = {"/usr/local/bin/", "/usr/bin/",
                                          "/usr/local/sbin/", "/opt/"};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        char path[64] = "";
        strncat(path, folders[i], sizeof path - 1);
        strncat(path, "zerohttpd-cheat-iterative", sizeof path - 1 - strlen(path));
        execv(path, argv);
    }
    return 1;
}
