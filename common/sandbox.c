/* sandbox - limits what a compromised server could do; see sandbox.h. */
#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <libgen.h>
#include <linux/landlock.h>
#include <pwd.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fatal.h"

#ifndef LANDLOCK_ACCESS_FS_TRUNCATE /* in headers of Linux 6.2 and newer */
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif

enum {
    VERSION_1 = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1, /* all its rights */
    VERSION_OF_TRUNCATE = 3, /* it adds LANDLOCK_ACCESS_FS_TRUNCATE */
    MAY_READ = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR,
    MAY_LOG = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG,
};

void sandbox_become_user(const char *name)
{
    const struct passwd *user = getpwnam(name);
    if (user == NULL)
        die("there is no user '%s'; name one that exists with --user", name);
    /* The user goes last: after setuid(2) the process can no longer change
     * its groups. */
    if (setgroups(0, NULL) < 0 || setgid(user->pw_gid) < 0 ||
        setuid(user->pw_uid) < 0)
        die("cannot become user '%s': %s; only root can", name,
            strerror(errno));
}

/* glibc has no wrappers for Landlock's calls, so they go by number. This
 * one keeps `rights` below a folder. If it fails, they are missing later:
 * pages become 403, and a log is not reopened. */
static void allow(int ruleset, int parent, const char *path, uint64_t rights)
{
    int folder = openat(parent, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct landlock_path_beneath_attr attr = {.parent_fd = folder,
                                              .allowed_access = rights};
    syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &attr,
            0u);
    close(folder);
}

/* Allows to create a log again after SIGHUP. The name on the command line
 * may be a symbolic link to a file elsewhere. */
static void allow_log(int ruleset, const char *name)
{
    char *path = realpath(name, NULL);
    if (path != NULL)
        allow(ruleset, AT_FDCWD, dirname(path), MAY_LOG);
    free(path);
}

bool sandbox_enter(int site, const char *log)
{
    struct landlock_ruleset_attr attr = {.handled_access_fs = VERSION_1};
    /* A kernel refuses a set of rules with a right that it does not know. */
    if (syscall(SYS_landlock_create_ruleset, NULL, 0,
                LANDLOCK_CREATE_RULESET_VERSION) >= VERSION_OF_TRUNCATE)
        attr.handled_access_fs |= LANDLOCK_ACCESS_FS_TRUNCATE;
    int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof attr,
                               0u);
    allow(ruleset, site, ".", MAY_READ);
    allow(ruleset, AT_FDCWD, "/proc", MAY_READ);
    if (log != NULL)
        allow_log(ruleset, log);
    /* The kernel insists on PR_SET_NO_NEW_PRIVS: otherwise a sandboxed
     * process could start a set-user-ID program and confuse it. */
    bool entered = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                   syscall(SYS_landlock_restrict_self, ruleset, 0u) == 0;
    close(ruleset);
    return entered;
}
