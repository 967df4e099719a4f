/* script - the requests that a client sends; see sim.h. */
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>

void *__real_realloc(void *p, size_t n);

static void append(struct client *c, const char *bytes, size_t n)
{
    if (c->size + n > c->room) {
        c->room = 2 * (c->size + n) + 1024;
        c->script = __real_realloc(c->script, c->room);
    }
    memcpy(c->script + c->size, bytes, n);
    c->size += n;
}

static void say(struct client *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void say(struct client *c, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    append(c, text, (size_t)n);
}

static void fill(struct client *c, char byte, size_t n)
{
    static char bytes[4096];
    memset(bytes, byte, sizeof bytes);
    for (; n > 0; n -= n < sizeof bytes ? n : sizeof bytes)
        append(c, bytes, n < sizeof bytes ? n : sizeof bytes);
}

/* The request line, Host and Connection. */
static void begin(struct client *c, struct request *r, const char *method,
                  const char *target)
{
    size_t at = c->size;
    r->old = chance_percent(10);
    bool keep = r->old ? chance_percent(50) : chance_percent(90);
    say(c, "%s %s HTTP/1.%d", method, target, !r->old);
    r->line = c->size - at;
    say(c, "\r\nHost: a\r\n");
    if (keep == r->old)
        say(c, "Connection: %s\r\n", keep ? "keep-alive" : "close");
    r->last = !keep;
}

static void end(struct client *c, struct request *r)
{
    say(c, "\r\n");
    r->head_end = c->size;
}

/* ------------------------------------------------------ requests for a file */

static void expect_file(struct request *r, int file)
{
    r->status = 200;
    r->body = BODY_FILE;
    r->file = file;
    r->length = site_files[file].size;
}

static void ask_file(struct client *c, struct request *r)
{
    static const struct {
        const char *target;
        int file;
    } rows[] = {{"/", FILE_INDEX}, {"/index.html", FILE_INDEX},
                {"/notes.txt", FILE_NOTES}, {"/empty.txt", FILE_EMPTY},
                {"/big.bin", FILE_BIG}, {"/huge.bin", FILE_HUGE}};
    int row = chance_below(6);
    if (row == 5 && chance_percent(50) && !c->stubborn)
        row = 0;
    r->head = chance_percent(10);
    begin(c, r, r->head ? "HEAD" : "GET", rows[row].target);
    expect_file(r, rows[row].file);
    if (chance_percent(10)) {
        say(c, "If-Modified-Since: Sat, 05 Nov 1994 01:46:40 GMT\r\n");
        r->status = 304;
        r->body = BODY_NONE;
    } else if (!r->head && r->length > 5 && chance_percent(10)) {
        say(c, "Range: bytes=2-4\r\n");
        r->status = 206;
        r->first = 2;
        r->length = 3;
    }
    end(c, r);
}

/* ------------------------------------------------------------ made-up pages */

static void ask_page(struct client *c, struct request *r)
{
    static const struct {
        const char *method, *target, *text;
        int status;
        enum body body;
    } rows[] = {
        {"GET", "/answer", "42", 200, BODY_TEXT},
        {"GET", "/hello", "Hello, World!", 200, BODY_TEXT},
        {"HEAD", "/hello", "Hello, World!", 200, BODY_TEXT},
        {"GET", "/redirect", "", 302, BODY_TEXT},
        {"GET", "/nowhere", "", 404, BODY_ANY},
        {"GET", "/folder", "", 301, BODY_ANY},
        {"DELETE", "/hello", "", 405, BODY_ANY},
        {"BREW", "/hello", "", 501, BODY_ANY},
        {"OPTIONS", "*", "", 204, BODY_NONE},
    };
    int row = chance_below(9);
    begin(c, r, rows[row].method, rows[row].target);
    end(c, r);
    r->head = rows[row].method[0] == 'H';
    r->status = rows[row].status;
    r->body = rows[row].body;
    r->length = strlen(rows[row].text);
    memcpy(r->text, rows[row].text, r->length + 1);
}

static void ask_echo(struct client *c, struct request *r)
{
    char target[64];
    snprintf(target, sizeof target, "/echo?value=client%d.%d", c->number,
             c->count);
    begin(c, r, "GET", target);
    end(c, r);
    r->status = 200;
    r->body = BODY_TEXT;
    r->length = (size_t)snprintf(
        r->text, sizeof r->text,
        "<http_test><value>client%d.%d</value></http_test>", c->number,
        c->count);
}

/* ------------------------------------------------------------ the guestbook */

static void ask_guestbook(struct client *c, struct request *r)
{
    r->head = chance_percent(5);
    begin(c, r, r->head ? "HEAD" : "GET", "/guestbook");
    end(c, r);
    r->status = 200;
    r->body = BODY_GUESTBOOK;
    r->redis = true;
}

static void say_chunked(struct client *c, const char *body, size_t n)
{
    while (n > 0) {
        size_t part = 1 + (size_t)chance_below((int)n);
        say(c, "%zx\r\n", part);
        append(c, body, part);
        say(c, "\r\n");
        body += part;
        n -= part;
    }
    say(c, "0\r\n\r\n");
}

static void sign_guestbook(struct client *c, struct request *r)
{
    char body[1200];
    bool good = chance_percent(85), chunked = chance_percent(25);
    r->remark = good ? 100 * (c->number + 1) + c->count : 0;
    int n = snprintf(body, sizeof body, "guest-name=%s&guest-remarks=remark%d+",
                     good ? "Ada" : "", r->remark);
    int more = chance_percent(30) ? chance_below(900) : 1;
    memset(body + n, 'x', (size_t)more);
    n += more;
    begin(c, r, "POST", "/guestbook");
    say(c, "Content-Type: application/x-www-form-urlencoded\r\n");
    if (!r->old && chance_percent(plan_has(&sim.plan, SPLITS) ? 60 : 25)) {
        r->expects = true;
        say(c, "Expect: 100-continue\r\n");
    }
    chunked &= !r->old;
    if (chunked)
        say(c, "Transfer-Encoding: chunked\r\n");
    else
        say(c, "Content-Length: %d\r\n", n);
    end(c, r);
    if (chunked)
        say_chunked(c, body, (size_t)n);
    else
        append(c, body, (size_t)n);
    r->redis = r->post = true;
    r->status = good ? 303 : 400;
    r->body = good ? BODY_ANY : BODY_GUESTBOOK;
}

/* ---------------------------------------------------------- what is refused */

static void ask_wrongly(struct client *c, struct request *r)
{
    size_t at = c->size;
    r->refused = true;
    r->body = BODY_ANY;
    switch (chance_below(7)) {
    case 0:
        say(c, "GET /hello HTTP/1.1\r\n\r\n"); /* no Host */
        r->status = 400;
        break;
    case 1:
        say(c, "nonsense\r\n\r\n");
        r->status = 400;
        break;
    case 2:
        say(c, "GET /hello HTTP/2.0\r\nHost: a\r\n\r\n");
        r->status = 505;
        break;
    case 3:
        say(c, "GET /");
        fill(c, 'x', 9000);
        say(c, " HTTP/1.1\r\nHost: a\r\n\r\n");
        r->status = 414;
        break;
    case 4:
        say(c, "GET /hello HTTP/1.1\r\nHost: a\r\nX: ");
        fill(c, 'x', 17000);
        say(c, "\r\n\r\n");
        r->status = 431;
        break;
    case 5:
        say(c, "POST /guestbook HTTP/1.1\r\nHost: a\r\n"
               "Content-Length: 70000\r\n\r\n");
        fill(c, 'x', 70000);
        r->status = 413;
        break;
    case 6:
        say(c, "POST /guestbook HTTP/1.1\r\nHost: a\r\n"
               "Transfer-Encoding: chunked\r\n\r\nzz\r\n");
        r->status = 400;
        break;
    }
    const char *cr = memchr(c->script + at, '\r', c->size - at);
    r->line = (size_t)(cr - (c->script + at));
    r->head_end = c->size;
}

/* --------------------------------------------------------------- the script */

static void add_request(struct client *c, bool one_of_many)
{
    struct request *r = &c->requests[c->count];
    *r = (struct request){.begin = c->size};
    int kind = one_of_many ? 60 : chance_below(100);
    if (plan_has(&sim.plan, MALFORMED) && kind < 25)
        ask_wrongly(c, r);
    else if (kind < 35)
        ask_file(c, r);
    else if (kind < 55)
        ask_page(c, r);
    else if (kind < 70)
        ask_echo(c, r);
    else if (kind < 85)
        ask_guestbook(c, r);
    else
        sign_guestbook(c, r);
    r->end = c->size;
    r->waits = !one_of_many && chance_percent(60);
    c->count++;
}

void client_write_script(struct client *c)
{
    int count = 1 + chance_below(chance_percent(50) ? 2 : 7);
    bool many = chance_below(300) == 0;
    c->size = 0;
    c->count = 0;
    if (many)
        count = REQUESTS_MAX;
    while (c->count < count) {
        add_request(c, many);
        const struct request *r = &c->requests[c->count - 1];
        /* A client that has said that nothing follows mostly means it. */
        if ((r->last || r->refused) && !c->stubborn)
            break;
    }
}
