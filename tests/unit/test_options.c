/* options - the command line; see common/options.h.
 *
 * A child reads each command line, as what is wrong ends the program; what it
 * says then, and how it ends, is looked at from here. */
#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

static const struct architecture epoll = {
    .folder = "07_epoll", .name = "epoll", .workers = 1};
static const struct architecture iterative = {
    .folder = "01_iterative", .name = "iterative"};

/* What parent and child share: the child's options point into its words. */
static struct shared {
    struct options options;
    char words[256];
} *shared;
static struct options *options;
static char said[8192]; /* by the child, on both outputs */

static int begin(void **state)
{
    (void)state;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    options = &shared->options;
    return shared == MAP_FAILED ? -1 : 0;
}

static int end(void **state)
{
    (void)state;
    return munmap(shared, sizeof *shared);
}

/* Has a child read the command line (words, separated by single spaces).
 * Returns its exit status; 0 when they are fine, and then what it read is in
 * *options. */
static int status_of(const struct architecture *architecture, const char *line)
{
    char *argv[32];
    const int argv_max = sizeof argv / sizeof argv[0];
    int argc = 0, out[2], status;
    snprintf(shared->words, sizeof shared->words, "%s %s", architecture->name,
             line);
    for (char *rest = shared->words; rest != NULL;) {
        char *word = strsep(&rest, " ");
        if (*word != '\0')
            argv[argc++] = word;
        assert_true(argc < argv_max); /* room for the NULL at the end */
    }
    argv[argc] = NULL;

    assert_int_equal(pipe(out), 0);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        dup2(out[1], STDOUT_FILENO);
        dup2(out[1], STDERR_FILENO);
        program_invocation_short_name = argv[0];
        options_parse(options, architecture, argc, argv);
        fflush(NULL);
        _exit(0);
    }
    close(out[1]);
    size_t n = 0;
    ssize_t got;
    while ((got = read(out[0], said + n, sizeof said - 1 - n)) > 0)
        n += (size_t)got;
    said[n] = '\0';
    close(out[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

TEST(without_options_there_are_defaults)
{
    assert_int_equal(status_of(&epoll, ""), 0);
    assert_string_equal(said, "");
    assert_string_equal(options->host, "127.0.0.1");
    assert_int_equal(options->port, 8000);
    assert_string_equal(options->root, ".");
    assert_int_equal(options->backlog, 4096);
    assert_int_equal(options->workers, 1);
    assert_int_equal(options->max_connections, 0);
    assert_string_equal(options->redis.host, "127.0.0.1");
    assert_int_equal(options->redis.port, 6379);
    assert_false(options->redis.none);
    assert_false(options->pipeline);
    assert_false(options->compute);
    assert_int_equal(options->keep_alive_ms, 5000);
    assert_int_equal(options->request_timeout_ms, 10000);
    assert_int_equal(options->drain_timeout_ms, 10000);
    assert_null(options->access_log);
    assert_null(options->user);
    assert_false(options->quiet);
    assert_false(options->verbose);
}

TEST(each_option_sets_what_it_names)
{
    assert_int_equal(status_of(&epoll, "-p 0 -H ::1 -r /srv -b 7 -w 3 -q -v"),
                     0);
    assert_int_equal(options->port, 0);
    assert_string_equal(options->host, "::1");
    assert_string_equal(options->root, "/srv");
    assert_int_equal(options->backlog, 7);
    assert_int_equal(options->workers, 3);
    assert_true(options->quiet);
    assert_true(options->verbose);

    assert_int_equal(status_of(&epoll, "--port=81 --max-connections 9 "
                                       "--pipeline --compute --keep-alive 0 "
                                       "--request-timeout 0.25 "
                                       "--drain-timeout 86400 "
                                       "--access-log - --user nobody"), 0);
    assert_int_equal(options->port, 81);
    assert_int_equal(options->max_connections, 9);
    assert_true(options->pipeline);
    assert_true(options->compute);
    assert_int_equal(options->keep_alive_ms, 0);
    assert_int_equal(options->request_timeout_ms, 250);
    assert_int_equal(options->drain_timeout_ms, 86400000);
    assert_string_equal(options->access_log, "-");
    assert_string_equal(options->user, "nobody");
}

TEST(the_article_s_form_takes_a_port_and_a_redis_host)
{
    assert_int_equal(status_of(&epoll, "8080"), 0);
    assert_int_equal(options->port, 8080);
    assert_int_equal(status_of(&epoll, "8080 redis.example.org"), 0);
    assert_string_equal(options->redis.host, "redis.example.org");
    assert_int_equal(options->redis.port, 6379);
}

TEST(redis_is_named_in_three_ways)
{
    assert_int_equal(status_of(&epoll, "--redis none"), 0);
    assert_true(options->redis.none);
    assert_int_equal(status_of(&epoll, "--redis unix:/run/redis"), 0);
    assert_string_equal(options->redis.path, "/run/redis");
    assert_int_equal(status_of(&epoll, "--redis example.org:7"), 0);
    assert_string_equal(options->redis.host, "example.org");
    assert_int_equal(options->redis.port, 7);
    const char *const addresses[] = {"--redis ::1", "--redis [::1]",
                                     "--redis [::1]:7"};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(status_of(&epoll, addresses[i]), 0);
        assert_string_equal(options->redis.host, "::1");
        assert_int_equal(options->redis.port, i < 2 ? 6379 : 7);
    }
}

TEST(wrong_usage_is_a_sentence_and_exit_status_2)
{
    static const char *const lines[] = {
        "-p", "-p x", "-p -1", "-p 65536", "-p 80x", "-p 99999999999999999999",
        "-b 0", "-w 0", "-w 1.5", "--keep-alive -1", "--keep-alive nan",
        "--keep-alive inf", "--keep-alive 5s", "--request-timeout 0",
        "--drain-timeout 86401", "--max-connections 0", "--redis a:b",
        "--redis a:0", "--redis :1", "--redis []:1", "--redis [::1]:", "--nonsense", "-Z", "x", "80 host more"};
    for (size_t i = 0; i < LENGTH(lines); i++) {
        int status = status_of(&epoll, lines[i]);
        if (status != 2)
            fail_msg("'%s': exit status %d", lines[i], status);
        if (strncmp(said, "epoll: ", 7) != 0 || strchr(said, '\n') == NULL)
            fail_msg("'%s': it says '%s'", lines[i], said);
    }
}

TEST(an_option_of_another_model_is_refused_with_the_reason)
{
    static const struct {
        const char *line, *reason;
    } rows[] = {
        {"-w 2", "worker processes"},
        {"-t 2", "pool of threads"},
        {"--max-children 2", "a child for each connection"},
        {"--max-threads 2", "a thread for each connection"},
        {"--max-connections 2", "06_poll and 07_epoll"},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        assert_int_equal(status_of(&iterative, rows[i].line), 2);
        if (strstr(said, rows[i].reason) == NULL)
            fail_msg("%s: it says '%s'", rows[i].line, said);
        assert_non_null(strstr(said, "01_iterative"));
    }
}

TEST(help_names_the_options_that_apply)
{
    assert_int_equal(status_of(&epoll, "--help"), 0);
    assert_non_null(strstr(said, "Usage: epoll "));
    assert_non_null(strstr(said, "--workers"));
    assert_null(strstr(said, "--max-children"));
    assert_int_equal(status_of(&iterative, "-h"), 0);
    assert_null(strstr(said, "--workers"));
}

TEST(version_names_the_program_and_the_model)
{
    assert_int_equal(status_of(&epoll, "-V"), 0);
    assert_string_equal(said, "zerohttpd/2.0 (epoll)\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_options_there_are_defaults),
        cmocka_unit_test(each_option_sets_what_it_names),
        cmocka_unit_test(the_article_s_form_takes_a_port_and_a_redis_host),
        cmocka_unit_test(redis_is_named_in_three_ways),
        cmocka_unit_test(wrong_usage_is_a_sentence_and_exit_status_2),
        cmocka_unit_test(an_option_of_another_model_is_refused_with_the_reason),
        cmocka_unit_test(help_names_the_options_that_apply),
        cmocka_unit_test(version_names_the_program_and_the_model),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
