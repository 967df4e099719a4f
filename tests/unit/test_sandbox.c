/*
 * The sandbox, tried from within: what was not given is refused by the kernel,
 * to root as well.
 *
 * A sandbox is for good, so each attempt is made in a child process of its own.
 * Where the kernel has no Landlock there is only that to see.
 */
#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "folder.h"
#include "unit.h"

static struct folder top;

static int make_folder(void **state)
{
    (void)state;
    folder_create(&top);
    folder_add(&top, "site");
    folder_add(&top, "site/below");
    folder_add(&top, "log");
    folder_write(&top, "site/page", "x", 1);
    folder_write(&top, "site/below/page", "x", 1);
    folder_write(&top, "log/log", "x", 1);
    folder_write(&top, "secret", "x", 1);
    return symlinkat("../secret", top.fd, "site/link");
}

static int remove_folder(void **state)
{
    (void)state;
    folder_remove(&top);
    return 0;
}

/* Returns 0 when the file could be opened so, or errno. */
static int try_to_open(const char *path, int flags)
{
    int fd = openat(top.fd, path, flags | O_CLOEXEC, 0666);
    if (fd < 0)
        return errno;
    close(fd);
    return 0;
}

/* Gives everything away but site/ to read and log/ to write. */
static bool enter(void)
{
    struct sandbox sandbox;
    int site = openat(top.fd, "site", O_PATH | O_DIRECTORY);
    int log = openat(top.fd, "log", O_PATH | O_DIRECTORY);
    sandbox_begin(&sandbox);
    sandbox_allow(&sandbox, site, SANDBOX_READ);
    sandbox_allow(&sandbox, log, SANDBOX_WRITE);
    bool entered = sandbox_enter(&sandbox) > 0;
    close(site);
    close(log);
    return entered;
}

static int exit_status_of(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* Opens it in a sandbox; also in a child of the sandboxed process, which must
 * be no freer than its parent. Returns 0 or errno. */
static int try_in_sandbox(const char *path, int flags)
{
    pid_t child = fork();
    if (child == 0) {
        assert_true(enter());
        pid_t grandchild = fork();
        if (grandchild == 0)
            _exit(try_to_open(path, flags));
        assert_int_equal(exit_status_of(grandchild), try_to_open(path, flags));
        _exit(try_to_open(path, flags));
    }
    return exit_status_of(child);
}

static bool has_landlock(void)
{
    struct sandbox sandbox;
    sandbox_begin(&sandbox);
    if (sandbox.ruleset >= 0)
        close(sandbox.ruleset);
    return sandbox.abi > 0;
}

static const struct attempt {
    const char *path;
    int flags;
    int result;
} attempts[] = {
    {"site/page", O_RDONLY, 0},
    {"site/below/page", O_RDONLY, 0},
    {"site/below", O_RDONLY | O_DIRECTORY, 0}, /* which needs a 301 */
    {"log/log", O_WRONLY | O_APPEND, 0},
    {"log/new", O_WRONLY | O_APPEND | O_CREAT, 0},
    {"secret", O_RDONLY, EACCES},
    {"site/link", O_RDONLY, EACCES},
    {"site/../secret", O_RDONLY, EACCES},
    {"/etc/passwd", O_RDONLY, EACCES},
    {"/proc/self/maps", O_RDONLY, EACCES},
    {"site/page", O_WRONLY, EACCES},
    {"site/new", O_WRONLY | O_CREAT, EACCES},
    {"log/log", O_RDONLY, EACCES},
    {"log", O_RDONLY | O_DIRECTORY, EACCES},
    {".", O_RDONLY | O_DIRECTORY, EACCES},
};

TEST(without_a_sandbox_all_of_it_is_there)
{
    for (size_t i = 0; i < LENGTH(attempts); i++)
        if (!(attempts[i].flags & O_CREAT))
            assert_int_equal(try_to_open(attempts[i].path, attempts[i].flags),
                             0);
}

TEST(in_a_sandbox_only_what_was_given)
{
    if (!has_landlock())
        skip();
    for (size_t i = 0; i < LENGTH(attempts); i++) {
        const struct attempt *a = &attempts[i];
        int result = try_in_sandbox(a->path, a->flags);
        if (result != a->result)
            fail_msg("%s, flags %#x: %s", a->path, (unsigned)a->flags,
                     strerror(result));
    }
}

TEST(no_other_program_can_be_run)
{
    if (!has_landlock())
        skip();
    pid_t child = fork();
    if (child == 0) {
        assert_true(enter());
        execl("/bin/true", "true", (char *)NULL);
        _exit(errno);
    }
    assert_int_equal(exit_status_of(child), EACCES);
}

/* As after sandbox_begin() on a kernel that has no Landlock. */
TEST(without_landlock_nothing_changes)
{
    struct sandbox sandbox = {.ruleset = -1};
    sandbox_allow(&sandbox, top.fd, SANDBOX_READ);
    assert_int_equal(sandbox_enter(&sandbox), 0);
    assert_int_equal(try_to_open("secret", O_RDONLY), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_sandbox_all_of_it_is_there),
        cmocka_unit_test(in_a_sandbox_only_what_was_given),
        cmocka_unit_test(no_other_program_can_be_run),
        cmocka_unit_test(without_landlock_nothing_changes),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
