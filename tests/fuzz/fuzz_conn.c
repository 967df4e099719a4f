/*
 * A whole connection: bytes of a client, cut anywhere; a Redis that may be away
 * or send unexpected replies; timeouts between any two steps.
 *
 * The first byte is a set of conditions (the enum below), the second chooses
 * where the bytes are cut. The rest is what the client sends, with one
 * abbreviation, so that a small input can reach the large limits: byte 0x1d, a
 * count n and a character stand for 257 * (n + 1) times that character.
 *
 * What must hold:
 *   - all that is sent to the client is, read strictly, a row of answers, none
 *     behind one that said Connection: close;
 *   - there are no more of them than requests, and those to HEAD are empty;
 *   - each answer has one log entry, with the line of its own request;
 *   - where nothing but the cutting is left to chance, it changes no answer;
 *   - every step makes progress, the connection stops only where it wants more
 *     bytes, and when none come it is over after its deadlines;
 *   - every reference to a file is released.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "../unit/answer.h"
#include "../unit/world.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    PIPELINE = 1,    /* --pipeline */
    NO_KEEP = 2,     /* the driver lets no connection stay open */
    FAULTS = 16,     /* of Redis, of the client, and timeouts */
    TINY = 32,       /* bytes come and go by ones and twos */
};

enum {
    INPUT_MAX = 512 * 1024,
    REQUESTS_MAX = 4096,
    TINY_MAX = 2000, /* steps; the rest comes faster, or it would take ages */
    ABBREVIATED = 0x1d,
};

static struct world world;
static unsigned conditions;
static uint64_t dice;

/* 0 to n - 1. */
static size_t roll(size_t n)
{
    dice ^= dice << 13;
    dice ^= dice >> 7;
    dice ^= dice << 17;
    return (size_t)(dice >> 20) % n;
}

static size_t random_portion(void *data, size_t n)
{
    int *tiny_left = data;
    size_t most = 64;
    if ((conditions & TINY) && *tiny_left > 0) {
        --*tiny_left;
        most = 2;
    } else if (roll(2) == 0) {
        return n;
    }
    return 1 + roll(n < most ? n : most);
}

/* ----------------------------------------------------------- a bad Redis */

static const redisReply *faulty_redis(struct world *w,
                                      const struct redis_command *command)
{
    static char text[] = "<b>$SERVER$\0\xff";
    static redisReply nil = {.type = REDIS_REPLY_NIL};
    static redisReply string = {
        .type = REDIS_REPLY_STRING, .str = text, .len = sizeof text - 1};
    static redisReply *mixed[] = {&nil, &string, &nil, &string};
    static const redisReply replies[] = {
        {.type = REDIS_REPLY_NIL},
        {.type = REDIS_REPLY_ERROR, .str = text, .len = sizeof text - 1},
        {.type = REDIS_REPLY_STATUS, .str = text, .len = sizeof text - 1},
        {.type = REDIS_REPLY_STRING, .str = text, .len = sizeof text - 1},
        {.type = REDIS_REPLY_INTEGER, .integer = INT64_MIN},
        {.type = REDIS_REPLY_ARRAY},
        {.type = REDIS_REPLY_ARRAY, .elements = 4, .element = mixed},
        {.type = 99},
    };
    const size_t n = sizeof replies / sizeof replies[0];
    size_t which = roll(4 * n);
    if (which < n)
        return &replies[which];
    return which == n ? NULL : world_redis(w, command);
}

/* ------------------------------------- what a reader of all bytes expects */

struct expected {
    size_t requests;          /* whole, or wrong */
    bool half;                /* another one has begun */
    bool head[REQUESTS_MAX];  /* is it HEAD? Of the half one too */
    struct slice line[REQUESTS_MAX]; /* for the log, likewise */
};

/* Steps over a body. Returns false when it is not whole, or wrong. */
static bool skip_body(struct slice *bytes, const struct http_request *request)
{
    static char data[INPUT_MAX];
    struct http_chunked decoder = {0};
    size_t consumed = (size_t)request->content_length, written;
    if (!request->chunked) {
        if (request->content_length > bytes->n)
            return false;
    } else if (http_chunked_decode(&decoder, data, bytes->p, bytes->n,
                                   &consumed, &written) != 0 ||
               decoder.state != CHUNK_DONE || written > HTTP_BODY_MAX) {
        return false;
    }
    bytes->p += consumed;
    bytes->n -= consumed;
    return true;
}

/* Steps over empty lines behind a request, which begin none. */
static void skip_empty_lines(struct slice *bytes)
{
    while (slice_has_prefix(*bytes, SLICE("\n")) ||
           slice_has_prefix(*bytes, SLICE("\r\n")))
        slice_skip(bytes, bytes->p[0] == '\n' ? 1 : 2);
}

static void expect(struct expected *e, struct slice bytes)
{
    struct http_request request;
    e->requests = 0;
    e->half = false;
    e->head[0] = false;
    while (e->requests + 1 < REQUESTS_MAX) {
        /* Before the first request they count as part of its head. */
        if (e->requests > 0)
            skip_empty_lines(&bytes);
        if (bytes.n == 0)
            return;
        ssize_t length = http_parse_head(bytes.p, bytes.n, &request);
        e->head[e->requests] = request.method == HTTP_HEAD;
        e->line[e->requests] = request.line;
        if (length < 0) {
            e->head[++e->requests] = false;
            return;
        }
        if (length == 0) {
            e->half = true;
            return;
        }
        bytes.p += length;
        bytes.n -= (size_t)length;
        e->head[++e->requests] = false;
        if (!skip_body(&bytes, &request))
            return; /* 413, 400, 408 or nothing */
    }
}

/* ------------------------------------------------------- what is logged */

static struct expected expected;
static size_t logged; /* entries on this connection */

/* The line is a slice of the input: it must still be there, and be that of the
 * request that was answered. One that came too late, or too large, may be
 * known in part only: "-". */
static void check_log(struct client *client, const struct http_logged *entry)
{
    struct slice line = entry->line;
    assert(logged < expected.requests + expected.half);
    assert(entry->status >= 200 && entry->status < 600);
    if (line.p != NULL && expected.line[logged].p != NULL)
        assert(slice_equal(line, expected.line[logged]));
    else
        assert(entry->status >= 400);
    assert(client->conn.requests == ++logged);
}

/* ------------------------------------------------------------- one talk */

/* Something that is not the client's next bytes. Returns whether the step is
 * thereby made. */
static bool misfortune(struct client *client)
{
    struct http_conn *c = &client->conn;
    enum http_want want = http_conn_want(c);
    size_t room;
    if (want == HTTP_WANT_REDIS || want == HTTP_WANT_CLOSE)
        return false;
    client->undelivered = roll(8) == 0;
    switch (roll(64)) {
    case 0:
        world_pass(&world, http_phase_timeout_ms(&world.site,
                                                 http_conn_phase(c)));
        http_conn_on_timeout(c, client->undelivered ? HTTP_STALLED : HTTP_DELIVERED);
        return true;
    case 1:
        http_conn_abort(c);
        return true;
    case 2:
        if (want == HTTP_WANT_READ) { /* woken up for nothing */
            assert(http_conn_input(c, &room) != NULL && room > 0);
            http_conn_received(c, 0);
        }
        return true;
    default:
        return false;
    }
}

/* Lets the client say all of it; what it gets is in client->received, whose
 * memory is used again and again. */
static void talk(struct client *client, struct slice bytes, bool cut)
{
    bool faults = (conditions & FAULTS) != 0;
    struct buffer received = client->received;
    static int tiny_left; /* the client needs it after this function, too */
    tiny_left = TINY_MAX;
    world.visitors = world.commands = 0;
    world.context.seed = 1;
    client_connect(client, &world);
    client->received = received;
    client_forget(client);
    client->unread = bytes;
    client->portion = cut ? random_portion : NULL;
    client->portion_data = &tiny_left;
    client->on_log = check_log;
    logged = 0;
    for (;;)
        if (!(faults && misfortune(client)) && !client_step(client))
            break;

    enum http_want want = http_conn_want(&client->conn);
    if (want == HTTP_WANT_READ || want == HTTP_WANT_LINGER)
        assert(client->unread.n == 0);
    else
        assert(want == HTTP_WANT_CLOSE);
    /* Only what has begun needs a buffer; half an empty line has. */
    const struct http_exchange *x = client->conn.x;
    if (http_conn_phase(&client->conn) == HTTP_PHASE_IDLE && x != NULL)
        assert(x->in_end - x->in_start == 1 && x->in[x->in_start] == '\r');
    if (want == HTTP_WANT_LINGER)
        assert(x == NULL);
}

/* The client says nothing more: with time, the connection is over. */
static void wait_for_the_end(struct client *client)
{
    client->unread = (struct slice){NULL, 0};
    client->undelivered = false;
    for (int i = 0; client_run(client) != HTTP_WANT_CLOSE; i++) {
        assert(i < 2); /* a late request's answer, then lingering */
        http_conn_on_timeout(&client->conn, HTTP_DELIVERED);
    }
    assert(http_conn_want(&client->conn) == HTTP_WANT_CLOSE);
}

/* Reads what was received; returns the number of final answers and where the
 * last of them begins. */
static size_t read_answers(struct client *client, size_t *last)
{
    struct slice rest = {client->received.data, client->received.len};
    struct answer answer = {0};
    size_t answers = 0;
    bool cut_short = http_conn_want(&client->conn) == HTTP_WANT_CLOSE &&
                     (conditions & FAULTS) != 0;
    *last = 0;
    while (rest.n > 0) {
        size_t at = client->received.len - rest.n;
        assert(!answer.close);
        const char *complaint =
            answer_read(&rest, expected.head[answers], &answer);
        if (complaint == NULL && rest.n > 0 &&
            (answer.status == 408 || answer.status == 414)) {
            /* The timeout, or 16 KiB of empty lines, came before it was known
             * to be HEAD. */
            rest = (struct slice){client->received.data + at,
                                  client->received.len - at};
            complaint = answer_read(&rest, false, &answer);
        }
        if (complaint != NULL && cut_short)
            break; /* the client left, or took nothing for too long */
        if (complaint != NULL) {
            fprintf(stderr, "answer %zu: %s\n", answers, complaint);
            abort();
        }
        if (answer.status >= 200) {
            answers++;
            *last = at;
        }
        assert(answers <= logged);
    }
    assert(!answer.close || client_is_over(client));
    return answers;
}

/* The same but for "100 Continue", which depends on whether part of the body
 * had come. */
static struct buffer without_interim(const struct client *client, size_t n)
{
    static const struct slice interim = SLICE("HTTP/1.1 100 Continue\r\n\r\n");
    struct slice rest = {client->received.data, n};
    struct buffer out = {0};
    while (rest.n > 0) {
        const char *at = memmem(rest.p, rest.n, interim.p, interim.n);
        size_t until = at != NULL ? (size_t)(at - rest.p) : rest.n;
        buffer_append(&out, rest.p, until);
        size_t used = at != NULL ? until + interim.n : until;
        rest.p += used;
        rest.n -= used;
    }
    return out;
}

/* Two clients that sent the same must have received the same. Which fault of a
 * wrong request is found, and whether at all before more comes, may depend on
 * how much of it was there: of the last answer of a connection that is over
 * nothing is said. */
static void compare(struct client *a, size_t logged_a, struct client *b)
{
    size_t last_a, last_b;
    size_t answers_b = read_answers(b, &last_b);
    logged = logged_a;
    size_t answers_a = read_answers(a, &last_a);
    bool over = client_is_over(a) || client_is_over(b);
    struct buffer out_a =
        without_interim(a, over ? last_a : a->received.len);
    struct buffer out_b =
        without_interim(b, over ? last_b : b->received.len);
    size_t n = out_a.len < out_b.len ? out_a.len : out_b.len;
    if (!over)
        assert(answers_a == answers_b && out_a.len == out_b.len);
    else
        assert(answers_a <= answers_b + 1 && answers_b <= answers_a + 1);
    assert(n == 0 || memcmp(out_a.data, out_b.data, n) == 0);
    buffer_free(&out_a);
    buffer_free(&out_b);
}

static void check_all_released(const struct file_table *table)
{
    const struct open_file *file = table->files;
    for (; file != NULL; file = file->hh.next)
        assert(file->references == 1);
}

/* --------------------------------------------------------------- the input */

static struct slice spell_out(const uint8_t *data, size_t size)
{
    static char input[INPUT_MAX];
    size_t n = 0;
    for (size_t i = 0; i < size && n < sizeof input; i++) {
        if (data[i] != ABBREVIATED || size - i < 3) {
            input[n++] = (char)data[i];
            continue;
        }
        size_t times = 257 * ((size_t)data[i + 1] + 1);
        if (times > sizeof input - n)
            times = sizeof input - n;
        memset(input + n, data[i + 2], times);
        n += times;
        i += 2;
    }
    return (struct slice){input, n};
}

static void end_world(void)
{
    world_destroy(&world);
}

static void set_conditions(unsigned byte)
{
    if (world.folder.path[0] == '\0') {
        world_create(&world);
        atexit(end_world);
    }
    conditions = byte;
    world.site.pipeline = (byte & PIPELINE) != 0;
    world.may_keep = (byte & NO_KEEP) == 0;
    world.redis = byte & FAULTS ? faulty_redis : world_redis;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct client client, other;
    size_t last;
    if (size < 2)
        return 0;
    set_conditions(data[0]);
    dice = 0x9e3779b97f4a7c15u + data[1];
    struct slice bytes = spell_out(data + 2, size - 2);
    expect(&expected, bytes);

    talk(&client, bytes, true);
    size_t answers = read_answers(&client, &last);
    if (!(conditions & FAULTS)) {
        assert(answers == logged);
        size_t logged_by_client = logged;
        talk(&other, bytes, false);
        compare(&client, logged_by_client, &other);
        http_conn_abort(&other.conn);
    }
    wait_for_the_end(&client);
    read_answers(&client, &last);
    http_conn_abort(&client.conn);
    check_all_released(&world.context.files);
    return 0;
}
