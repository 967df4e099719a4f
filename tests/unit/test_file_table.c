/* file_cache - files opened once and kept; see common/file_cache.h. */
#include "file_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "folder.h"
#include "unit.h"

static struct folder folder;     /* with a folder "inside" and files */
static int inside;               /* its descriptor: the cache sees no more */
static struct file_cache cache;
static int64_t now;

static int begin(void **state)
{
    (void)state;
    folder_create(&folder);
    folder_add(&folder, "inside");
    folder_add(&folder, "inside/sub");
    folder_write(&folder, "inside/file", "content", 7);
    folder_write(&folder, "inside/sub/file", "deeper", 6);
    folder_write(&folder, "inside/large", many('x', FILE_CONTENT_MAX + 1),
                 FILE_CONTENT_MAX + 1);
    folder_write(&folder, "outside", "secret", 6);
    inside = openat(folder.fd, "inside", O_PATH | O_DIRECTORY);
    assert_true(inside >= 0);
    now = 1000000;
    file_cache_init(&cache, inside);
    return 0;
}

static int end(void **state)
{
    (void)state;
    file_cache_free(&cache);
    assert_null(cache.table);
    close(inside);
    folder_remove(&folder);
    return 0;
}

static struct cached_file *open_file(const char *path)
{
    struct cached_file *file;
    int error = file_cache_open(&cache, path, now, &file);
    if (error != 0)
        fail_msg("%s: %s", path, strerror(error));
    return file;
}

static int error_of(const char *path)
{
    struct cached_file *file;
    int error = file_cache_open(&cache, path, now, &file);
    if (error == 0)
        file_release(file);
    return error;
}

static void assert_content(const char *path, const char *content)
{
    struct cached_file *file = open_file(path);
    assert_slice(((struct slice){file->content, (size_t)file->size}), content);
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

TEST(a_small_file_is_kept_with_its_content)
{
    struct cached_file *file = open_file("file");
    assert_slice(((struct slice){file->content, (size_t)file->size}),
                 "content");
    assert_int_equal(file->fd, -1);
    file_release(file);
    assert_content("sub/file", "deeper");
}

TEST(a_large_one_is_kept_open)
{
    struct cached_file *file = open_file("large");
    assert_null(file->content);
    assert_int_equal(file->size, FILE_CONTENT_MAX + 1);
    char byte;
    assert_int_equal(pread(file->fd, &byte, 1, FILE_CONTENT_MAX), 1);
    file_release(file);
}

TEST(an_empty_file_has_content_of_no_bytes)
{
    folder_write(&folder, "inside/empty", "", 0);
    struct cached_file *file = open_file("empty");
    assert_non_null(file->content);
    assert_int_equal(file->size, 0);
    file_release(file);
}

TEST(what_is_no_regular_file_has_an_error_of_its_own)
{
    assert_int_equal(error_of("nowhere"), ENOENT);
    assert_int_equal(error_of("nowhere/file"), ENOENT);
    assert_int_equal(error_of("file/file"), ENOENT);
    assert_int_equal(error_of(""), ENOENT);
    assert_int_equal(error_of("sub"), EISDIR);
    assert_int_equal(error_of("sub/"), EISDIR);
    assert_int_equal(mkfifoat(inside, "pipe", 0644), 0);
    assert_int_equal(error_of("pipe"), EACCES); /* and nobody waits for it */
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
        {"out-and-in", "../inside/file"},
    };
    for (size_t i = 0; i < LENGTH(links); i++)
        assert_int_equal(symlinkat(links[i].target, inside, links[i].name), 0);
    static const char *const paths[] = {
        "../outside", "..", "/etc/passwd", "sub/../../outside", "up",
        "up/outside", "file-outside", "sub/file-outside", "absolute",
        "root/etc/passwd", "out-and-in", "up/inside/file"};
    for (size_t i = 0; i < LENGTH(paths); i++)
        if (error_of(paths[i]) != ENOENT)
            fail_msg("%s: %s", paths[i], strerror(error_of(paths[i])));
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
    assert_int_equal(error_of("a"), ELOOP);
}

/* ----------------------------------------------- keeping, and looking again */

TEST(a_file_is_opened_once)
{
    struct cached_file *first = open_file("file");
    struct cached_file *second = open_file("file");
    assert_ptr_equal(first, second);
    assert_int_equal(first->references, 3); /* the table's, and these two */
    file_release(first);
    file_release(second);
    assert_int_equal(first->references, 1);
}

TEST(a_change_is_seen_when_the_last_look_is_old_enough)
{
    assert_content("file", "content");
    folder_write(&folder, "inside/file", "changed!", 8);
    now += FILE_CACHE_FRESH_MS - 1;
    assert_content("file", "content");
    now += 1;
    assert_content("file", "changed!");
}

TEST(so_is_a_file_that_took_its_place)
{
    assert_content("file", "content");
    folder_write(&folder, "inside/new", "content", 7); /* as long as that */
    assert_int_equal(renameat(inside, "new", inside, "file"), 0);
    folder_write(&folder, "inside/file", "replace", 7);
    now += FILE_CACHE_FRESH_MS;
    assert_content("file", "replace");
}

TEST(so_is_its_end)
{
    assert_content("file", "content");
    assert_int_equal(unlinkat(inside, "file", 0), 0);
    now += FILE_CACHE_FRESH_MS;
    assert_int_equal(error_of("file"), ENOENT);
    assert_null(cache.table);
}

TEST(a_file_that_rests_is_not_read_again)
{
    /* A file changed a moment ago may change once more within the same time
     * stamp; one that rested for two seconds is believed its stamp. */
    struct cached_file *file = open_file("file");
    assert_false(file->settled);
    file->settled = true;
    now += FILE_CACHE_FRESH_MS;
    struct cached_file *again = open_file("file");
    assert_ptr_equal(file, again);
    assert_int_equal(again->checked_ms, now);
    file_release(again);

    file->settled = false;
    now += FILE_CACHE_FRESH_MS;
    again = open_file("file");
    assert_ptr_not_equal(file, again);
    file_release(again);
    file_release(file);
}

TEST(a_response_under_way_keeps_the_file_that_it_began_with)
{
    struct cached_file *old = open_file("large");
    assert_int_equal(unlinkat(inside, "large", 0), 0);
    folder_write(&folder, "inside/large", "small now", 9);
    now += FILE_CACHE_FRESH_MS;
    assert_content("large", "small now");
    assert_int_equal(old->references, 1);
    char byte;
    assert_int_equal(pread(old->fd, &byte, 1, FILE_CONTENT_MAX), 1);
    assert_int_equal(byte, 'x');
    file_release(old);
}

/* ------------------------------------------------------------- the bound */

/* Opens files "0", "1", ... "n-1", one after the other. */
static void open_many(int n)
{
    for (int i = 0; i < n; i++) {
        char name[32], path[32];
        snprintf(name, sizeof name, "%d", i);
        snprintf(path, sizeof path, "inside/%d", i);
        folder_write(&folder, path, many('x', FILE_CONTENT_MAX + 1),
                     FILE_CONTENT_MAX + 1);
        file_release(open_file(name));
    }
}

static bool is_kept(const char *name)
{
    struct cached_file *file;
    HASH_FIND_STR(cache.table, name, file);
    return file != NULL;
}

TEST(only_so_many_are_kept_and_the_first_that_came_goes_first)
{
    open_many(FILE_CACHE_ENTRIES);
    assert_true(is_kept("0"));
    assert_content("file", "content");
    assert_int_equal(HASH_COUNT(cache.table), FILE_CACHE_ENTRIES);
    assert_false(is_kept("0"));
    assert_true(is_kept("1"));
    assert_true(is_kept("file"));
}

TEST(so_only_so_many_descriptors_are_held)
{
    int before = open_descriptors();
    open_many(3 * FILE_CACHE_ENTRIES);
    assert_int_equal(open_descriptors(), before + FILE_CACHE_ENTRIES);
    file_cache_free(&cache);
    assert_int_equal(open_descriptors(), before);
}

TEST(fewer_are_held_where_descriptors_are_short)
{
    int before = open_descriptors();
    cache.open_max = 2;
    open_many(5);
    assert_int_equal(open_descriptors(), before + 2);
    assert_true(is_kept("1"));
    assert_false(is_kept("4")); /* it was served, and closed */
    assert_content("file", "content");
    assert_true(is_kept("file")); /* it needs none */
    file_cache_free(&cache);
    assert_int_equal(open_descriptors(), before);
    open_many(2);
    assert_int_equal(open_descriptors(), before + 2);
}

TEST(a_file_that_has_to_go_while_it_is_sent_stays_until_then)
{
    int before = open_descriptors();
    struct cached_file *file = open_file("large");
    open_many(FILE_CACHE_ENTRIES);
    assert_false(is_kept("large"));
    assert_true(fcntl(file->fd, F_GETFD) >= 0);
    file_release(file);
    assert_int_equal(open_descriptors(), before + FILE_CACHE_ENTRIES);
}

TEST(errors_are_not_kept_and_cost_no_descriptor)
{
    int before = open_descriptors();
    for (int i = 0; i < 100; i++) {
        error_of("nowhere");
        error_of("sub");
        error_of("../outside");
    }
    assert_int_equal(open_descriptors(), before);
    assert_null(cache.table);
}

TEST(to_release_nothing_is_fine)
{
    file_release(NULL);
}

int main(void)
{
#define FILES(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        FILES(a_small_file_is_kept_with_its_content),
        FILES(a_large_one_is_kept_open),
        FILES(an_empty_file_has_content_of_no_bytes),
        FILES(what_is_no_regular_file_has_an_error_of_its_own),
        FILES(nothing_outside_the_folder_is_opened),
        FILES(a_link_that_stays_inside_is_followed),
        FILES(links_in_a_circle_lead_nowhere),
        FILES(a_file_is_opened_once),
        FILES(a_change_is_seen_when_the_last_look_is_old_enough),
        FILES(so_is_a_file_that_took_its_place),
        FILES(so_is_its_end),
        FILES(a_file_that_rests_is_not_read_again),
        FILES(a_response_under_way_keeps_the_file_that_it_began_with),
        FILES(only_so_many_are_kept_and_the_first_that_came_goes_first),
        FILES(so_only_so_many_descriptors_are_held),
        FILES(fewer_are_held_where_descriptors_are_short),
        FILES(a_file_that_has_to_go_while_it_is_sent_stays_until_then),
        FILES(errors_are_not_kept_and_cost_no_descriptor),
        FILES(to_release_nothing_is_fine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
