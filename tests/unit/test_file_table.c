/* file_table - the files that a worker keeps open; see common/file_table.h. */
#include "file_table.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/resource.h>
#include <unistd.h>

#include "folder.h"
#include "unit.h"

static struct folder folder; /* holds a folder "inside", and files */
static int inside;           /* its descriptor: all that the table sees */
static struct file_table table;
static int64_t now;

static int begin(void **state)
{
    (void)state;
    folder_create(&folder);
    folder_add(&folder, "inside");
    folder_add(&folder, "inside/sub");
    folder_write(&folder, "inside/file", "content", 7);
    folder_write(&folder, "inside/sub/file", "deeper", 6);
    folder_write(&folder, "outside", "secret", 6);
    inside = openat(folder.fd, "inside", O_PATH | O_DIRECTORY);
    assert_true(inside >= 0);
    now = 1000000;
    table = (struct file_table){.folder = inside, .size = FILE_TABLE_SIZE};
    return 0;
}

static bool is_empty(void)
{
    return table.files == NULL;
}

static int end(void **state)
{
    (void)state;
    file_table_empty(&table);
    assert_true(is_empty());
    close(inside);
    folder_remove(&folder);
    return 0;
}

static struct open_file *open_file(const char *path)
{
    struct open_file *file;
    int status = file_table_open(&table, path, now, &file);
    if (status != 0)
        fail_msg("%s: %d", path, status);
    return file;
}

static int status_of(const char *path)
{
    struct open_file *file;
    int status = file_table_open(&table, path, now, &file);
    if (status == 0)
        file_release(file);
    return status;
}

static void assert_content(const char *path, const char *content)
{
    char bytes[64];
    struct open_file *file = open_file(path);
    ssize_t n = pread(file->fd, bytes, sizeof bytes, 0);
    assert_int_equal(n, file->status.st_size);
    assert_slice(((struct slice){bytes, (size_t)n}), content);
    file_release(file);
}

static int open_descriptors(void)
{
    int count = 0;
    for (int fd = 0; fd < 1024; fd++)
        count += fcntl(fd, F_GETFD) != -1;
    return count;
}

/* -------------------------------------------------- what can be opened */

TEST(a_file_is_opened_by_its_path)
{
    assert_content("file", "content");
    assert_content("sub/file", "deeper");
    folder_write(&folder, "inside/empty", "", 0);
    assert_content("empty", "");
}

TEST(other_than_regular_files_have_statuses_of_their_own)
{
    assert_int_equal(status_of("nowhere"), 404);
    assert_int_equal(status_of("nowhere/file"), 404);
    assert_int_equal(status_of("file/file"), 404);
    assert_int_equal(status_of(""), 404);
    assert_int_equal(status_of("sub"), 301);
    assert_int_equal(status_of("sub/"), 301);
    assert_int_equal(mkfifoat(inside, "pipe", 0644), 0);
    assert_int_equal(status_of("pipe"), 403); /* without waiting */
}

TEST(nothing_outside_the_folder_is_opened)
{
    static const struct {
        const char *name, *target;
    } links[] = {
        {"up", ".."},
        {"file-outside", "../outside"},
        {"sub/file-outside", "../../outside"},
        {"absolute", "/etc/passwd"},
        {"root", "/"},
    };
    for (size_t i = 0; i < LENGTH(links); i++)
        assert_int_equal(symlinkat(links[i].target, inside, links[i].name), 0);
    static const char *const paths[] = {
        "../outside", "..", "/etc/passwd", "sub/../../outside", "up",
        "up/outside", "file-outside", "sub/file-outside", "absolute",
        "root/etc/passwd"};
    for (size_t i = 0; i < LENGTH(paths); i++)
        if (status_of(paths[i]) != 404)
            fail_msg("%s: %d", paths[i], status_of(paths[i]));
}

TEST(a_link_that_leaves_and_returns_is_refused)
{
    assert_int_equal(symlinkat("../inside/file", inside, "out-and-in"), 0);
    assert_int_equal(symlinkat("..", inside, "up"), 0);
    assert_int_equal(status_of("out-and-in"), 404);
    assert_int_equal(status_of("up/inside/file"), 404);
}

TEST(a_link_that_stays_inside_is_followed)
{
    assert_int_equal(symlinkat("sub/file", inside, "link"), 0);
    assert_int_equal(symlinkat("../file", inside, "sub/link"), 0);
    assert_content("link", "deeper");
    assert_content("sub/link", "content");
}

TEST(links_in_a_circle_lead_nowhere)
{
    assert_int_equal(symlinkat("b", inside, "a"), 0);
    assert_int_equal(symlinkat("a", inside, "b"), 0);
    assert_int_equal(status_of("a"), 404);
}

/* fcntl(2): an open by anyone else first asks the holder to give the lease up,
 * with SIGIO, and would wait up to 45 seconds for that. */
TEST(a_leased_file_is_not_waited_for)
{
    int holder = openat(inside, "file", O_RDWR);
    signal(SIGIO, SIG_IGN);
    assert_int_equal(fcntl(holder, F_SETLEASE, F_WRLCK), 0);
    assert_int_equal(status_of("file"), 503);
    assert_int_equal(fcntl(holder, F_SETLEASE, F_UNLCK), 0);
    assert_content("file", "content");
    close(holder);
}

/* --------------------------------------------- keeping, and looking again */

TEST(a_file_is_opened_once)
{
    struct open_file *first = open_file("file");
    struct open_file *second = open_file("file");
    assert_ptr_equal(first, second);
    assert_int_equal(first->references, 3); /* the table's, and these two */
    file_release(first);
    file_release(second);
    assert_int_equal(first->references, 1);
}

TEST(a_file_is_opened_again_when_it_was_opened_long_enough_ago)
{
    struct open_file *first = open_file("file");
    now += FILE_TABLE_FRESH_MS - 1;
    struct open_file *second = open_file("file");
    assert_ptr_equal(first, second);
    now += 1;
    file_release(second);
    second = open_file("file");
    assert_ptr_not_equal(first, second);
    file_release(first);
    file_release(second);
}

TEST(a_change_is_seen_then)
{
    struct open_file *file = open_file("file");
    assert_int_equal(file->status.st_size, 7);
    file_release(file);
    folder_write(&folder, "inside/file", "changed!", 8);
    now += FILE_TABLE_FRESH_MS;
    assert_content("file", "changed!");
}

TEST(so_is_a_file_that_took_its_place)
{
    assert_content("file", "content");
    folder_write(&folder, "inside/new", "replace", 7);
    assert_int_equal(renameat(inside, "new", inside, "file"), 0);
    assert_content("file", "content");
    now += FILE_TABLE_FRESH_MS;
    assert_content("file", "replace");
}

TEST(so_is_its_end)
{
    assert_content("file", "content");
    assert_int_equal(unlinkat(inside, "file", 0), 0);
    now += FILE_TABLE_FRESH_MS;
    assert_int_equal(status_of("file"), 404);
}

TEST(a_response_in_progress_keeps_the_file_that_it_began_with)
{
    struct open_file *old = open_file("file");
    assert_int_equal(unlinkat(inside, "file", 0), 0);
    folder_write(&folder, "inside/file", "new", 3);
    now += FILE_TABLE_FRESH_MS;
    assert_content("file", "new");
    char byte;
    assert_int_equal(pread(old->fd, &byte, 1, 0), 1);
    assert_int_equal(byte, 'c');
    file_release(old);
}

/* -------------------------------------------------------------- the limit */

/* Opens files "0", "1", ... "n-1", one millisecond after the other. */
static void open_many(int n)
{
    for (int i = 0; i < n; i++) {
        char name[32], path[32];
        snprintf(name, sizeof name, "%d", i);
        snprintf(path, sizeof path, "inside/%d", i);
        folder_write(&folder, path, "x", 1);
        now++;
        file_release(open_file(name));
    }
}

static bool is_kept(const char *name)
{
    const struct open_file *file = table.files;
    while (file != NULL && strcmp(file->path, name) != 0)
        file = file->hh.next;
    return file != NULL;
}

TEST(when_the_table_is_full_the_file_not_used_for_longest_goes)
{
    open_many(FILE_TABLE_SIZE);
    assert_true(is_kept("0"));
    assert_content("file", "content");
    assert_false(is_kept("0"));
    assert_true(is_kept("1"));
    assert_true(is_kept("file"));
    assert_content("1", "x"); /* now "2" is the one */
    assert_content("sub/file", "deeper");
    assert_true(is_kept("1"));
    assert_false(is_kept("2"));
}

TEST(a_path_that_names_nothing_makes_no_file_go)
{
    open_many(FILE_TABLE_SIZE);
    assert_int_equal(status_of("nowhere"), 404);
    assert_int_equal(HASH_COUNT(table.files), FILE_TABLE_SIZE);
}

TEST(the_table_bounds_the_descriptors)
{
    int before = open_descriptors();
    open_many(3 * FILE_TABLE_SIZE);
    assert_int_equal(open_descriptors(), before + FILE_TABLE_SIZE);
    file_table_empty(&table);
    assert_int_equal(open_descriptors(), before);
}

TEST(a_smaller_table_holds_fewer)
{
    int before = open_descriptors();
    table.size = 2;
    open_many(FILE_TABLE_SIZE);
    assert_int_equal(open_descriptors(), before + 2);
}

TEST(an_idle_worker_can_drop_what_is_too_old)
{
    int before = open_descriptors();
    file_release(open_file("file"));
    now += 200;
    file_release(open_file("sub/file"));
    assert_int_equal(table.stale_ms, now + 300);
    file_table_expire(&table, now + 299);
    assert_int_equal(open_descriptors(), before + 2);
    file_table_expire(&table, now + 300);
    assert_int_equal(open_descriptors(), before + 1);
    assert_int_equal(table.stale_ms, now + 500);
    file_table_expire(&table, now + 500);
    assert_int_equal(open_descriptors(), before);
    assert_int_equal(table.stale_ms, 0);
}

TEST(files_kept_for_later_make_room_for_one_that_is_needed_now)
{
    struct rlimit limit, old;
    open_many(FILE_TABLE_SIZE);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    old = limit;
    int next = dup(inside); /* the lowest free descriptor */
    assert_true(next >= 0);
    close(next);
    limit.rlim_cur = (rlim_t)next; /* none is left */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    struct open_file *file;
    int status = file_table_open(&table, "file", now, &file);
    setrlimit(RLIMIT_NOFILE, &old);
    assert_int_equal(status, 0);
    file_release(file);
}

TEST(a_file_that_leaves_the_table_stays_open_until_it_is_sent)
{
    int before = open_descriptors();
    struct open_file *file = open_file("file");
    open_many(FILE_TABLE_SIZE);
    assert_false(is_kept("file"));
    assert_true(fcntl(file->fd, F_GETFD) >= 0);
    file_release(file);
    assert_int_equal(open_descriptors(), before + FILE_TABLE_SIZE);
}

TEST(errors_are_not_kept_and_cost_no_descriptor)
{
    int before = open_descriptors();
    for (int i = 0; i < 100; i++) {
        status_of("nowhere");
        status_of("sub");
        status_of("../outside");
    }
    assert_int_equal(open_descriptors(), before);
    assert_true(is_empty());
}

TEST(nothing_can_be_released)
{
    file_release(NULL);
}

int main(void)
{
#define FILES(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        FILES(a_file_is_opened_by_its_path),
        FILES(other_than_regular_files_have_statuses_of_their_own),
        FILES(nothing_outside_the_folder_is_opened),
        FILES(a_link_that_leaves_and_returns_is_refused),
        FILES(a_link_that_stays_inside_is_followed),
        FILES(links_in_a_circle_lead_nowhere),
        FILES(a_leased_file_is_not_waited_for),
        FILES(a_file_is_opened_once),
        FILES(a_file_is_opened_again_when_it_was_opened_long_enough_ago),
        FILES(a_change_is_seen_then),
        FILES(so_is_a_file_that_took_its_place),
        FILES(so_is_its_end),
        FILES(a_response_in_progress_keeps_the_file_that_it_began_with),
        FILES(when_the_table_is_full_the_file_not_used_for_longest_goes),
        FILES(a_path_that_names_nothing_makes_no_file_go),
        FILES(the_table_bounds_the_descriptors),
        FILES(a_smaller_table_holds_fewer),
        FILES(an_idle_worker_can_drop_what_is_too_old),
        FILES(files_kept_for_later_make_room_for_one_that_is_needed_now),
        FILES(a_file_that_leaves_the_table_stays_open_until_it_is_sent),
        FILES(errors_are_not_kept_and_cost_no_descriptor),
        FILES(nothing_can_be_released),
    };
    need_openat2(LENGTH(tests));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
