/* sandbox - what a process in it may still do; see common/sandbox.h. */
#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "folder.h"
#include "unit.h"

static struct folder folder; /* holds "site", "log" and "elsewhere" */

static int begin(void **state)
{
    (void)state;
    folder_create(&folder);
    folder_add(&folder, "site");
    folder_add(&folder, "log");
    folder_add(&folder, "elsewhere");
    folder_write(&folder, "site/page", "page", 4);
    folder_write(&folder, "log/log", "line", 4);
    folder_write(&folder, "elsewhere/file", "text", 4);
    return 0;
}

static int end(void **state)
{
    (void)state;
    folder_remove(&folder);
    return 0;
}

/* Returns which version of Landlock this kernel has; 0 or less: none. */
static long version(void)
{
    return syscall(SYS_landlock_create_ruleset, NULL, 0,
                   LANDLOCK_CREATE_RULESET_VERSION);
}

static int opening(const char *path, int flags)
{
    return openat(folder.fd, path, flags, 0644);
}

static int deleting(const char *path, int unused)
{
    (void)unused;
    return unlinkat(folder.fd, path, 0);
}

static int shortening(const char *path, int unused)
{
    char whole[512];
    (void)unused;
    snprintf(whole, sizeof whole, "%s/%s", folder.path, path);
    return truncate(whole, 0);
}

/* Returns the errno of attempt(path, flags) in a process that has entered the
 * sandbox, or 0 if it succeeds. */
static int error_inside(int (*attempt)(const char *path, int flags),
                        const char *path, int flags)
{
    char log[512];
    int status;
    snprintf(log, sizeof log, "%s/log/log", folder.path);
    pid_t pid = fork();
    if (pid == 0) {
        int site = openat(folder.fd, "site", O_PATH | O_DIRECTORY);
        if (!sandbox_enter(site, log))
            _exit(255);
        _exit(attempt(path, flags) < 0 ? errno : 0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_not_equal(WEXITSTATUS(status), 255);
    return WEXITSTATUS(status);
}

TEST(the_site_and_proc_can_be_read)
{
    assert_int_equal(error_inside(opening, "site/page", O_RDONLY), 0);
    assert_int_equal(error_inside(opening, "/proc/self/status", O_RDONLY), 0);
}

TEST(no_other_file_can_be_read)
{
    assert_int_equal(error_inside(opening, "/etc/passwd", O_RDONLY), EACCES);
    assert_int_equal(error_inside(opening, "elsewhere/file", O_RDONLY), EACCES);
}

TEST(the_log_can_be_made_again)
{
    const int flags = O_WRONLY | O_APPEND | O_CREAT;
    assert_int_equal(error_inside(opening, "log/log", flags), 0);
    assert_int_equal(error_inside(opening, "log/new", flags), 0);
}

TEST(nothing_else_can_be_written_or_deleted)
{
    const int flags = O_WRONLY | O_CREAT;
    assert_int_equal(error_inside(opening, "site/page", O_WRONLY), EACCES);
    assert_int_equal(error_inside(opening, "elsewhere/new", flags), EACCES);
    assert_int_equal(error_inside(deleting, "elsewhere/file", 0), EACCES);
    assert_int_equal(error_inside(deleting, "log/log", 0), EACCES);
}

/* The right to do that exists since version 3, Linux 6.2. */
TEST(no_file_can_be_shortened_where_the_kernel_has_a_right_for_it)
{
    int expected = version() >= 3 ? EACCES : 0;
    assert_int_equal(error_inside(shortening, "elsewhere/file", 0), expected);
    assert_int_equal(error_inside(shortening, "log/log", 0), expected);
    assert_int_equal(error_inside(opening, "log/log", O_WRONLY | O_TRUNC),
                     expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_site_and_proc_can_be_read),
        cmocka_unit_test(no_other_file_can_be_read),
        cmocka_unit_test(the_log_can_be_made_again),
        cmocka_unit_test(nothing_else_can_be_written_or_deleted),
        cmocka_unit_test(
            no_file_can_be_shortened_where_the_kernel_has_a_right_for_it),
    };
    if (version() < 1) {
        fprintf(stderr, "[  SKIPPED ] %zu test(s): no Landlock here\n",
                LENGTH(tests));
        return 0;
    }
    return cmocka_run_group_tests(tests, begin, end);
}
