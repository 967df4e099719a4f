/* conversation - tests that talk to a made-up world; see conversation.h. */
#include "conversation.h"

#include <stdio.h>

struct world world;
struct client client;

int talk_begin(void **state)
{
    (void)state;
    world_create(&world);
    client_connect(&client, &world);
    return 0;
}

/* Only the table itself may still hold a file. */
static void assert_all_released(const struct file_table *table)
{
    const struct open_file *file = table->files;
    for (; file != NULL; file = file->hh.next)
        assert_int_equal(file->references, 1);
}

int talk_end(void **state)
{
    (void)state;
    client_disconnect(&client);
    assert_all_released(&world.context.files);
    world_destroy(&world);
    return 0;
}

void assert_statuses_at(const char *expected, int line)
{
    struct slice rest = {client.received.data, client.received.len};
    struct buffer got = {0};
    struct answer answer = {0};
    while (rest.n > 0) {
        if (answer.close)
            fail_msg("line %d: an answer after Connection: close", line);
        const char *complaint = answer_read(&rest, false, &answer);
        if (complaint != NULL)
            fail_msg("line %d: %s", line, complaint);
        if (got.len > 0)
            buffer_append_literal(&got, " ");
        buffer_append_uint(&got, (uint64_t)answer.status);
    }
    if (answer.close && !client_is_over(&client))
        fail_msg("line %d: it said close and stays open", line);
    if (got.len != strlen(expected) ||
        (got.len > 0 && memcmp(got.data, expected, got.len) != 0))
        fail_msg("line %d: expected '%s', got '%.*s'", line, expected,
                 (int)got.len, got.data != NULL ? got.data : "");
    buffer_free(&got);
}

struct answer only_answer(void)
{
    struct slice rest = {client.received.data, client.received.len};
    struct answer answer = {0};
    const char *complaint = rest.n > 0 ? answer_read(&rest, false, &answer)
                                       : "nothing was received";
    if (complaint != NULL)
        fail_msg("%s", complaint);
    if (rest.n > 0)
        fail_msg("more than one answer");
    return answer;
}

void assert_field(const struct answer *answer, const char *name,
                  const char *expected)
{
    struct slice value = answer_field(answer, name);
    if (expected == NULL && value.p != NULL)
        fail_msg("there is a field %s: %.*s", name, (int)value.n, value.p);
    if (expected != NULL && value.p == NULL)
        fail_msg("there is no field %s", name);
    if (expected != NULL)
        assert_slice(value, expected);
}

struct answer answer_to(const char *request)
{
    client_disconnect(&client);
    client_connect(&client, &world);
    client_send(&client, slice_of(request));
    return only_answer();
}

const char *body_of(const struct answer *answer)
{
    static char text[8192];
    assert_true(answer->body.n < sizeof text);
    memcpy(text, answer->body.p, answer->body.n);
    text[answer->body.n] = '\0';
    return text;
}
