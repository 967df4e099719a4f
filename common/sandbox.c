/* sandbox - gives rights to files away, by Landlock; see sandbox.h. */
#include "sandbox.h"

#include <linux/landlock.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Rights that are newer than the headers of many a distribution. */
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14) /* version 3, Linux 6.2 */
#endif
#ifndef LANDLOCK_ACCESS_FS_IOCTL_DEV
#define LANDLOCK_ACCESS_FS_IOCTL_DEV (1ULL << 15) /* version 5, Linux 6.10 */
#endif

/* All rights that a version of Landlock knows. What is not in this set is not
 * restricted at all, and what the kernel does not know it refuses to hear of. */
static uint64_t rights_known_to(int abi)
{
    uint64_t rights = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1; /* version 1 */
    if (abi >= 2)
        rights |= LANDLOCK_ACCESS_FS_REFER;
    if (abi >= 3)
        rights |= LANDLOCK_ACCESS_FS_TRUNCATE;
    if (abi >= 5)
        rights |= LANDLOCK_ACCESS_FS_IOCTL_DEV;
    return rights;
}

void sandbox_begin(struct sandbox *sandbox)
{
    *sandbox = (struct sandbox){.ruleset = -1};
    /* glibc has no wrappers for these three, so they are called by number. */
    long abi = syscall(SYS_landlock_create_ruleset, NULL, (size_t)0,
                       LANDLOCK_CREATE_RULESET_VERSION);
    if (abi <= 0)
        return; /* ENOSYS: not built in; EOPNOTSUPP: switched off at boot */
    sandbox->abi = (int)abi;
    struct landlock_ruleset_attr attr = {
        .handled_access_fs = rights_known_to(sandbox->abi)};
    sandbox->ruleset =
        (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof attr, 0u);
}

void sandbox_allow(struct sandbox *sandbox, int folder,
                   enum sandbox_right right)
{
    struct landlock_path_beneath_attr attr = {
        .parent_fd = folder,
        .allowed_access = right == SANDBOX_READ
                              ? LANDLOCK_ACCESS_FS_READ_FILE |
                                    LANDLOCK_ACCESS_FS_READ_DIR
                              : LANDLOCK_ACCESS_FS_WRITE_FILE |
                                    LANDLOCK_ACCESS_FS_MAKE_REG};
    /* A right that could not be added is missing later: a page becomes a 403,
     * which is seen. Without a rule set the call fails, and nothing is lost. */
    syscall(SYS_landlock_add_rule, sandbox->ruleset, LANDLOCK_RULE_PATH_BENEATH,
            &attr, 0u);
}

int sandbox_enter(struct sandbox *sandbox)
{
    if (sandbox->ruleset < 0)
        return 0;
    /* Without this promise a sandboxed process could start a set-user-ID
     * program and confuse it, so the kernel insists on it. */
    bool entered = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                   syscall(SYS_landlock_restrict_self, sandbox->ruleset,
                           0u) == 0;
    close(sandbox->ruleset);
    sandbox->ruleset = -1;
    return entered ? sandbox->abi : 0;
}
