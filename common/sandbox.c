/* sandbox - limits the server with Landlock; see sandbox.h. */
#include "sandbox.h"

#include <fcntl.h>
#include <libgen.h>
#include <linux/landlock.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "server.h"

enum {
    VERSION_1 = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1, /* all its rights */
    MAY_READ = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR,
    MAY_LOG = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG,
};

/* glibc has no wrappers for Landlock's calls, so they go by number. This one
 * keeps `rights` below a folder. If that fails the right is missing later, and
 * a page becomes a visible 403. */
static void allow(int ruleset, int parent, const char *path, uint64_t rights)
{
    int folder = openat(parent, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct landlock_path_beneath_attr attr = {.parent_fd = folder,
                                              .allowed_access = rights};
    syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &attr,
            0u);
    close(folder);
}

void sandbox_enter(const struct server *server)
{
    struct landlock_ruleset_attr attr = {.handled_access_fs = VERSION_1};
    int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof attr,
                               0u);
    allow(ruleset, server->site.public_folder, ".", MAY_READ);
    allow(ruleset, AT_FDCWD, "/proc", MAY_READ);
    /* SIGHUP creates the log again in its folder. The name on the command line
     * may be a symbolic link to a file elsewhere. */
    char *log = server->log.fd > STDERR_FILENO
                    ? realpath(server->log.path, NULL) : NULL;
    if (log != NULL)
        allow(ruleset, AT_FDCWD, dirname(log), MAY_LOG);
    free(log);
    /* The kernel insists on PR_SET_NO_NEW_PRIVS: otherwise a sandboxed process
     * could start a set-user-ID program and confuse it. */
    bool entered = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                   syscall(SYS_landlock_restrict_self, ruleset, 0u) == 0;
    close(ruleset);
    if (server->options.verbose)
        warn_user(entered ? "sandboxed by Landlock"
                          : "not sandboxed: this kernel offers no Landlock");
}
