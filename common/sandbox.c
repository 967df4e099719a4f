/* sandbox - limits the server with Landlock; see sandbox.h. */
#include "sandbox.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fatal.h"
#include "server.h"

/* Rights that are newer than many distributions' headers. */
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14) /* version 3, Linux 6.2 */
#endif
#ifndef LANDLOCK_ACCESS_FS_IOCTL_DEV
#define LANDLOCK_ACCESS_FS_IOCTL_DEV (1ULL << 15) /* version 5, Linux 6.10 */
#endif

enum {
    MAY_READ = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR,
    MAY_LOG = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG,
};

/* All rights that a version of Landlock knows. A right outside this set is not
 * restricted, and the kernel rejects rights that it does not know. */
static uint64_t rights_of_version(long version)
{
    uint64_t rights = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1; /* version 1 */
    if (version >= 2)
        rights |= LANDLOCK_ACCESS_FS_REFER;
    if (version >= 3)
        rights |= LANDLOCK_ACCESS_FS_TRUNCATE;
    if (version >= 5)
        rights |= LANDLOCK_ACCESS_FS_IOCTL_DEV;
    return rights;
}

/* Keeps `rights` below an open folder. If that fails the right is missing
 * later, and a page becomes a visible 403. */
static void allow(int ruleset, int folder, uint64_t rights)
{
    struct landlock_path_beneath_attr attr = {.parent_fd = folder,
                                              .allowed_access = rights};
    syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &attr,
            0u);
}

static void allow_path(int ruleset, const char *path, uint64_t rights)
{
    int folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return;
    allow(ruleset, folder, rights);
    close(folder);
}

/* SIGHUP creates the log again in its folder. The folder is found by the log's
 * real path, because the name on the command line may be a symbolic link. */
static void allow_log(int ruleset, const struct access_log *log)
{
    struct stat status;
    char *path;
    if (log->fd < 0 || fstat(log->fd, &status) < 0 ||
        !S_ISREG(status.st_mode) || (path = realpath(log->path, NULL)) == NULL)
        return;
    char *slash = strrchr(path, '/');
    slash[slash == path ? 1 : 0] = '\0';
    allow_path(ruleset, path, MAY_LOG);
    free(path);
}

void sandbox_enter(const struct server *server)
{
    /* glibc has no wrappers for these calls, so they go by number. */
    long version = syscall(SYS_landlock_create_ruleset, NULL, (size_t)0,
                           LANDLOCK_CREATE_RULESET_VERSION);
    struct landlock_ruleset_attr attr = {
        .handled_access_fs = rights_of_version(version)};
    int ruleset = version <= 0 ? -1 :
        (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof attr, 0u);
    if (ruleset >= 0) {
        allow(ruleset, server->public_folder, MAY_READ);
        allow_path(ruleset, "/proc", MAY_READ);
        allow_log(ruleset, &server->log);
    }
    /* The kernel insists on PR_SET_NO_NEW_PRIVS: otherwise a sandboxed process
     * could start a set-user-ID program and confuse it. */
    bool entered = ruleset >= 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                   syscall(SYS_landlock_restrict_self, ruleset, 0u) == 0;
    if (ruleset >= 0)
        close(ruleset);
    if (server->options.verbose && entered)
        warn_user("sandboxed by Landlock, version %ld", version);
    else if (server->options.verbose)
        warn_user("not sandboxed: this kernel offers no Landlock");
}
