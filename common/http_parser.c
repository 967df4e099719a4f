/*
 * http_parser - one pass over the head of a request; see http_parser.h.
 *
 * Every loop below looks at `p < end` before it looks at *p: the buffer may
 * end anywhere, and a head that is not whole is parsed again from its start
 * when more has come. That costs nothing where it matters (almost every head
 * arrives in one piece) and leaves no half-parsed state to get wrong.
 */
#include "http_parser.h"

#include <arpa/inet.h>

/* Which bytes may stand where, as a bit each (RFC 9110, 5.6.2 and 5.5). */
enum {
    TOKEN = 1,  /* in a method or a field name */
    VALUE = 2,  /* in a field value: visible, space, tab, and bytes >= 0x80 */
    TARGET = 4, /* in a request target: visible ASCII without '#' */
    NAME = 8,   /* in a host's name, beside escapes (RFC 3986, 3.2.2) */
};
#define T TOKEN
#define V VALUE
#define G TARGET
#define N NAME
static const unsigned char class[256] = {
    ['\t'] = V, [' '] = V,
    ['!'] = T|V|G|N, ['"'] = V|G, ['#'] = T|V, ['$'] = T|V|G|N,
    ['%'] = T|V|G, ['&'] = T|V|G|N, ['\''] = T|V|G|N, ['('] = V|G|N,
    [')'] = V|G|N, ['*'] = T|V|G|N, ['+'] = T|V|G|N, [','] = V|G|N,
    ['-'] = T|V|G|N, ['.'] = T|V|G|N, ['/'] = V|G,
    ['0' ... '9'] = T|V|G|N,
    [':'] = V|G, [';'] = V|G|N, ['<'] = V|G, ['='] = V|G|N, ['>'] = V|G,
    ['?'] = V|G, ['@'] = V|G,
    ['A' ... 'Z'] = T|V|G|N,
    ['['] = V|G, ['\\'] = V|G, [']'] = V|G, ['^'] = T|V|G,
    ['_'] = T|V|G|N, ['`'] = T|V|G,
    ['a' ... 'z'] = T|V|G|N,
    ['{'] = V|G, ['|'] = T|V|G, ['}'] = V|G, ['~'] = T|V|G|N,
    [0x80 ... 0xff] = V,
};
#undef T
#undef V
#undef G
#undef N

static inline bool has_class(char c, int wanted)
{
    return (class[(unsigned char)c] & wanted) != 0;
}

static inline bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

static inline bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int hex_digit(char c)
{
    if (is_digit(c))
        return c - '0';
    c |= 0x20; /* upper case to lower */
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Steps over the bytes that a field value may have, eight at a time: most of a
 * head is values. Subtracting 0x20 from every byte of a word borrows into the
 * top bit of those that are smaller (and were not above 0x7f before); XOR with
 * 0x7f makes DEL a zero byte, found by subtracting 1. A word with anything
 * suspicious in it is looked at byte by byte. */
static const char *skip_value(const char *p, const char *end)
{
    const uint64_t ones = 0x0101010101010101u, tops = 0x8080808080808080u;
    while (end - p >= 8) {
        uint64_t word;
        memcpy(&word, p, sizeof word); /* p need not be aligned */
        uint64_t del = word ^ (ones * 0x7f);
        if ((((word - ones * 0x20) & ~word) | ((del - ones) & ~del)) & tops)
            break;
        p += sizeof word;
    }
    while (p < end && has_class(*p, VALUE))
        p++;
    return p;
}

/* How much of s is a host's name, or an IPv4 address: none may be, for a name
 * can be empty. */
static size_t name_length(struct slice s)
{
    size_t n = 0;
    for (;;) {
        while (n < s.n && has_class(s.p[n], NAME))
            n++;
        if (s.n - n < 3 || s.p[n] != '%' || hex_digit(s.p[n + 1]) < 0 ||
            hex_digit(s.p[n + 2]) < 0)
            return n;
        n += 3;
    }
}

/* How much of s is an IPv6 address with its brackets; 0 when that is wrong. The
 * grammar has room for addresses of the future; there have been none, so nobody
 * can be called so. A function apart, for its array brings with it a check of
 * the stack, which the usual Host shall not pay for. */
__attribute__((noinline))
static size_t literal_length(struct slice s)
{
    char text[INET6_ADDRSTRLEN]; /* inet_pton(3) wants a NUL behind it */
    struct in6_addr address;
    const char *end = memchr(s.p, ']', s.n);
    size_t n = end != NULL ? (size_t)(end - s.p) - 1 : 0;
    if (end == NULL || n >= sizeof text)
        return 0;
    memcpy(text, s.p + 1, n);
    text[n] = '\0';
    return inet_pton(AF_INET6, text, &address) == 1 ? n + 2 : 0;
}

/* Is it a host, and perhaps a ':' and a port (RFC 9112, 3.2; the digits may be
 * missing, RFC 3986, 3.2.3)? Two servers that take apart in two ways what is
 * neither may take one request for two sites. */
static bool is_authority(struct slice s)
{
    unsigned port = 0;
    size_t i = s.n > 0 && s.p[0] == '[' ? literal_length(s) : name_length(s);
    if (i == s.n)
        return true;
    if (s.p[i] != ':')
        return false;
    while (++i < s.n && port <= UINT16_MAX) {
        if (!is_digit(s.p[i]))
            return false;
        port = port * 10 + (unsigned)(s.p[i] - '0');
    }
    return port <= UINT16_MAX;
}

/* What the fields say that only their sum can judge. */
struct seen {
    unsigned fields;
    unsigned hosts;
    bool content_length;
    bool transfer_encoding;
    bool close, keep_alive; /* options of Connection */
    int framing_error;      /* status, or 0: told only after the head ended */
};

static enum http_method method_of(struct slice name)
{
    static const struct slice refused[] = {
        {"PUT", 3}, {"DELETE", 6}, {"PATCH", 5}, {"TRACE", 5}};
    if (slice_equal(name, SLICE("GET"))) /* methods are case-sensitive */
        return HTTP_GET;
    if (slice_equal(name, SLICE("HEAD")))
        return HTTP_HEAD;
    if (slice_equal(name, SLICE("POST")))
        return HTTP_POST;
    if (slice_equal(name, SLICE("OPTIONS")))
        return HTTP_OPTIONS;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        if (slice_equal(name, refused[i]))
            return HTTP_REFUSED;
    return HTTP_UNKNOWN;
}

/* Takes the request target apart (RFC 9112, 3.2). The four forms: "/path?query"
 * to us, "http://host/path" to a proxy (and we must take it), "host:port" for
 * CONNECT, "*" for OPTIONS. Returns 0, or minus a status. */
static int parse_target(struct slice target, struct http_request *r)
{
    if (r->method == HTTP_UNKNOWN)
        return 0; /* it gets its 501 whatever it asked for */
    if (target.p[0] != '/') {
        if (slice_equal(target, SLICE("*")) && r->method == HTTP_OPTIONS) {
            r->path = target;
            return 0;
        }
        const struct slice scheme = SLICE("http://");
        if (target.n <= scheme.n ||
            strncasecmp(target.p, scheme.p, scheme.n) != 0)
            return -400;
        target.p += scheme.n;
        target.n -= scheme.n;
        /* The authority of the target counts, and Host is ignored. */
        size_t n = 0;
        while (n < target.n && target.p[n] != '/' && target.p[n] != '?')
            n++;
        r->host = (struct slice){target.p, n};
        target.p += n;
        target.n -= n;
        if (n == 0 || r->host.p[0] == ':' || /* RFC 9110, 4.2.1 */
            !is_authority(r->host))
            return -400;
        if (target.n == 0 || target.p[0] == '?') {
            r->path = SLICE("/");
            if (target.n > 0)
                r->query = (struct slice){target.p + 1, target.n - 1};
            return 0;
        }
    }
    const char *mark = memchr(target.p, '?', target.n);
    r->path = target;
    if (mark != NULL) {
        r->path.n = (size_t)(mark - target.p);
        r->query = (struct slice){mark + 1, target.n - r->path.n - 1};
    }
    return 0;
}

static int take_content_length(struct slice value, struct http_request *r,
                               struct seen *seen)
{
    uint64_t length = 0;
    if (value.n == 0)
        return -400;
    for (size_t i = 0; i < value.n; i++) {
        if (!is_digit(value.p[i]))
            return -400;
        /* Beyond any body that we take: too large to count on, so stop there
         * (and let 413 say it) rather than overflow. */
        if (length <= HTTP_BODY_MAX)
            length = length * 10 + (unsigned)(value.p[i] - '0');
    }
    if (seen->content_length && length != r->content_length)
        return -400;
    seen->content_length = true;
    r->content_length = length;
    return 0;
}

static int take_transfer_encoding(struct slice value, struct http_request *r,
                                  struct seen *seen)
{
    if (seen->transfer_encoding)
        return -400;
    seen->transfer_encoding = true;
    struct slice last = {NULL, 0};
    unsigned codings = 0;
    while (value.n > 0) {
        struct slice coding = slice_next_element(&value);
        if (coding.n > 0) { /* RFC 9110, 5.6.1.2: ignore empty elements */
            last = coding;
            codings++;
        }
    }
    /* Only "chunked" as the last coding says where the body ends. "gzip,
     * chunked" has such an end, but this server cannot decode gzip. */
    if (!slice_equal_nocase(last, SLICE("chunked")))
        return -400;
    r->chunked = codings == 1;
    return r->chunked ? 0 : -501;
}

static void take_connection(struct slice value, struct seen *seen)
{
    while (value.n > 0) {
        struct slice option = slice_next_element(&value);
        if (slice_equal_nocase(option, SLICE("close")))
            seen->close = true;
        else if (slice_equal_nocase(option, SLICE("keep-alive")))
            seen->keep_alive = true;
    }
}

static int take_expect(struct slice value, struct http_request *r)
{
    if (!slice_equal_nocase(value, SLICE("100-continue")))
        return -417;
    r->expect_continue = true;
    return 0;
}

static int add_line(struct http_list *list, struct slice value)
{
    if (list->count == HTTP_LIST_LINES_MAX)
        return -431;
    list->lines[list->count++] = value;
    return 0;
}

/* Of two lines neither counts: nobody knows which of them was meant. */
static void take_only(struct slice *kept, struct slice value)
{
    *kept = (struct slice){value.p, kept->p == NULL ? value.n : 0};
}

/* Keeps what one field says. Returns 0, or minus a status. The length tells
 * most names apart, so that the usual field costs one comparison or none. */
static int take_field(struct slice name, struct slice value,
                      struct http_request *r, struct seen *seen)
{
/* The first letter, made lower case, mostly saves the comparison; the usual
 * spelling saves the call, as the compiler compares so few bytes by itself. */
#define NAMED(literal)                                                         \
    ((name.p[0] | 0x20) == ((literal)[0] | 0x20) &&                            \
     (memcmp(name.p, (literal), sizeof(literal) - 1) == 0 ||                   \
      strncasecmp(name.p, (literal), sizeof(literal) - 1) == 0))
    switch (name.n) {
    case 4:
        if (NAMED("Host")) {
            seen->hosts++;
            if (!is_authority(value))
                return -400;
            if (r->host.p == NULL) /* else the target has named one */
                r->host = value;
        }
        return 0;
    case 5:
        if (NAMED("Range"))
            take_only(&r->range, value);
        return 0;
    case 6:
        return NAMED("Expect") ? take_expect(value, r) : 0;
    case 8:
        if (NAMED("If-Range"))
            take_only(&r->if_range, value);
        else if (NAMED("If-Match"))
            return add_line(&r->if_match, value);
        return 0;
    case 10:
        if (NAMED("Connection"))
            take_connection(value, seen);
        return 0;
    case 12:
        if (NAMED("Content-Type"))
            r->content_type = value;
        return 0;
    case 13:
        return NAMED("If-None-Match") ? add_line(&r->if_none_match, value) : 0;
    case 14:
        return NAMED("Content-Length") ? take_content_length(value, r, seen)
                                       : 0;
    case 17:
        if (NAMED("Transfer-Encoding"))
            return take_transfer_encoding(value, r, seen);
        if (NAMED("If-Modified-Since"))
            take_only(&r->if_modified_since, value);
        return 0;
    case 19:
        if (NAMED("If-Unmodified-Since"))
            take_only(&r->if_unmodified_since, value);
        return 0;
    default:
        return 0;
    }
#undef NAMED
}

/* What can be judged only when all fields are known. */
static int judge(struct http_request *r, const struct seen *seen)
{
    if (seen->hosts > 1 || (seen->hosts == 0 && r->minor_version >= 1))
        return -400; /* RFC 9112, 3.2 */
    if (seen->transfer_encoding &&
        (seen->content_length || r->minor_version == 0))
        return -400; /* RFC 9112, 6.1 and 6.3: a sign of smuggling */
    if (seen->framing_error != 0)
        return seen->framing_error;
    if (seen->fields > HTTP_FIELDS_MAX)
        return -431;
    if (r->minor_version == 0)
        r->expect_continue = false; /* RFC 9110, 10.1.1 */
    r->keep_alive = r->minor_version >= 1 ? !seen->close
                                          : seen->keep_alive && !seen->close;
    return 0;
}

/* Parses "METHOD SP target SP HTTP/1.x" and its line end. Returns where the
 * next line starts; NULL with *status 0 when more bytes are needed, or with
 * *status set to minus the answer's status. */
static const char *parse_request_line(const char *p, const char *end,
                                      struct http_request *r, int *status)
{
    *status = 0;
    /* An empty line before a request is a left-over of some old client's
     * POST; RFC 9112, 2.2 asks us to step over it. */
    while (p < end && (*p == '\r' || *p == '\n')) {
        if (*p == '\r' && p + 1 < end && p[1] != '\n')
            goto bad;
        p++;
    }
    const char *line = p;
    while (p < end && has_class(*p, TOKEN))
        p++;
    if (p == end)
        return NULL;
    if (*p != ' ' || p == line)
        goto bad;
    r->method = method_of((struct slice){line, (size_t)(p - line)});

    struct slice target = {++p, 0};
    while (p < end && has_class(*p, TARGET))
        p++;
    target.n = (size_t)(p - target.p);
    if (target.n > HTTP_TARGET_MAX) {
        *status = -414;
        return NULL;
    }
    if (p == end)
        return NULL;
    if (*p != ' ' || target.n == 0)
        goto bad;

    const char *version = ++p; /* HTTP/D.D */
    size_t there = (size_t)(end - p);
    if (there < 8) {
        if (memcmp(p, "HTTP/", there < 5 ? there : 5) != 0)
            goto bad;
        return NULL;
    }
    /* Of a known length, so that the compiler needs no call to compare it. */
    if (memcmp(p, "HTTP/", 5) != 0 || !is_digit(p[5]) || p[6] != '.' ||
        !is_digit(p[7]))
        goto bad;
    p += 8;
    r->line = (struct slice){line, (size_t)(p - line)};
    if (p < end && *p == '\r')
        p++;
    if (p == end)
        return NULL;
    if (*p != '\n')
        goto bad;
    if (version[5] != '1') {
        *status = -505;
        return NULL;
    }
    /* A higher minor version is compatible, and gets 1.1 (RFC 9110, 2.5). */
    r->minor_version = version[7] == '0' ? 0 : 1;
    *status = parse_target(target, r);
    return *status == 0 ? p + 1 : NULL;
bad:
    *status = -400;
    return NULL;
}

ssize_t http_parse_head(const char *bytes, size_t length,
                        struct http_request *request)
{
    const char *end = bytes + length;
    struct seen seen = {0};
    int status;

    *request = (struct http_request){.method = HTTP_UNKNOWN};
    const char *p = parse_request_line(bytes, end, request, &status);
    if (p == NULL)
        return status != 0 || length < HTTP_HEAD_MAX ? status : -431;

    for (;;) {
        if (p < end && *p == '\r') { /* the empty line that ends the head */
            if (++p < end && *p != '\n')
                return -400;
        }
        if (p == end)
            break;
        if (*p == '\n') {
            p++;
            if (p - bytes > HTTP_HEAD_MAX)
                return -431;
            status = judge(request, &seen);
            return status != 0 ? status : p - bytes;
        }

        const char *name = p;
        while (p < end && has_class(*p, TOKEN))
            p++;
        if (p == end)
            break;
        /* No space between name and colon, no folded line: a line that starts
         * with a space has an empty name here (RFC 9112, 5.1 and 5.2). */
        if (*p != ':' || p == name)
            return -400;
        struct slice field = {name, (size_t)(p - name)};

        const char *value = ++p;
        p = skip_value(p, end);
        struct slice text = {value, (size_t)(p - value)};
        if (p < end && *p == '\r')
            p++;
        if (p == end)
            break;
        if (*p++ != '\n') /* a bare CR, a NUL or another control byte */
            return -400;
        seen.fields++;
        /* Kept until the whole head is read: only then is it sure that the
         * rest is not worse. Of several the lowest counts, -400 before -501,
         * so that the answer does not depend on the order. */
        status = take_field(field, slice_trim(text), request, &seen);
        if (status != 0 &&
            (seen.framing_error == 0 || status > seen.framing_error))
            seen.framing_error = status;
    }
    return length < HTTP_HEAD_MAX ? 0 : -431;
}

/* Adds c to the size of the chunk. Returns false if c is not a digit. */
static bool add_size_digit(struct http_chunked *d, char c)
{
    int digit = hex_digit(c);
    if (digit < 0)
        return false;
    if (d->left == 0 && digit == 0)
        d->overhead++; /* no other limit applies to leading zeros */
    d->left = d->left * 16 + (unsigned)digit;
    return true;
}

/* Returns the state after c, which follows a chunk size, an extension name or
 * an extension value. */
static enum chunk_state after_element(char c)
{
    if (c == ';')
        return CHUNK_EXT_START;
    if (c == '\r')
        return CHUNK_SIZE_LF;
    return is_space(c) ? CHUNK_EXT_SPACE : CHUNK_MALFORMED;
}

/* Returns the state after c, which belongs to the extensions of a chunk:
 *     *( BWS ";" BWS name [ BWS "=" BWS ( token / quoted-string ) ] )
 * BWS is optional white space (RFC 9110, 5.6.3). An open quote is malformed: a
 * parser that read on to its end would find other chunks than this one. */
static enum chunk_state next_in_extension(enum chunk_state state, char c)
{
    switch (state) {
    case CHUNK_EXT_SPACE:
        if (is_space(c))
            return state;
        return c == ';' ? CHUNK_EXT_START : CHUNK_MALFORMED;
    case CHUNK_EXT_START:
        if (is_space(c))
            return state;
        return has_class(c, TOKEN) ? CHUNK_EXT_NAME : CHUNK_MALFORMED;
    case CHUNK_EXT_NAME:
        if (has_class(c, TOKEN))
            return state;
        if (c == '=')
            return CHUNK_EXT_EQUALS;
        return is_space(c) ? CHUNK_EXT_NAME_SPACE : after_element(c);
    case CHUNK_EXT_NAME_SPACE:
        if (is_space(c))
            return state;
        if (c == '=')
            return CHUNK_EXT_EQUALS;
        return c == ';' ? CHUNK_EXT_START : CHUNK_MALFORMED;
    case CHUNK_EXT_EQUALS:
        if (is_space(c))
            return state;
        if (c == '"')
            return CHUNK_EXT_QUOTED;
        return has_class(c, TOKEN) ? CHUNK_EXT_VALUE : CHUNK_MALFORMED;
    case CHUNK_EXT_VALUE:
        return has_class(c, TOKEN) ? state : after_element(c);
    case CHUNK_EXT_QUOTED:
        if (c == '"')
            return CHUNK_EXT_QUOTE_END;
        if (c == '\\')
            return CHUNK_EXT_QUOTED_PAIR;
        return has_class(c, VALUE) ? state : CHUNK_MALFORMED;
    case CHUNK_EXT_QUOTED_PAIR:
        return has_class(c, VALUE) ? CHUNK_EXT_QUOTED : CHUNK_MALFORMED;
    case CHUNK_EXT_QUOTE_END:
        return after_element(c);
    default: /* not a state of an extension */
        return CHUNK_MALFORMED;
    }
}

/* Returns the state after c, which is any byte but chunk data. Lines end in CRLF
 * only: if one parser accepts a bare LF here and another does not, they find
 * different chunks in the same bytes. */
static enum chunk_state next_state(struct http_chunked *d, char c)
{
    const enum chunk_state bad = CHUNK_MALFORMED;
    switch (d->state) {
    case CHUNK_SIZE_FIRST:
        return add_size_digit(d, c) ? CHUNK_SIZE : bad;
    case CHUNK_SIZE:
        return add_size_digit(d, c) ? CHUNK_SIZE : after_element(c);
    case CHUNK_SIZE_LF:
        if (c != '\n')
            return bad;
        return d->left > 0 ? CHUNK_DATA : CHUNK_TRAILER;
    case CHUNK_DATA_CR:
        return c == '\r' ? CHUNK_DATA_LF : bad;
    case CHUNK_DATA_LF:
        return c == '\n' ? CHUNK_SIZE_FIRST : bad;
    case CHUNK_EXT_SPACE ... CHUNK_EXT_QUOTE_END:
        d->overhead++;
        return next_in_extension(d->state, c);
    case CHUNK_TRAILER:
        d->overhead++;
        if (c == '\r')
            return CHUNK_END_LF;
        return has_class(c, TOKEN) ? CHUNK_TRAILER_NAME : bad;
    case CHUNK_TRAILER_NAME:
        d->overhead++;
        if (c == ':')
            return CHUNK_TRAILER_VALUE;
        return has_class(c, TOKEN) ? CHUNK_TRAILER_NAME : bad;
    case CHUNK_TRAILER_VALUE:
        d->overhead++;
        if (c == '\r')
            return CHUNK_TRAILER_LF;
        return has_class(c, VALUE) ? CHUNK_TRAILER_VALUE : bad;
    case CHUNK_TRAILER_LF:
        return c == '\n' ? CHUNK_TRAILER : bad;
    case CHUNK_END_LF:
        return c == '\n' ? CHUNK_DONE : bad;
    case CHUNK_DATA:
    case CHUNK_DONE:
    case CHUNK_MALFORMED:
        break;
    }
    return bad;
}

int http_chunked_decode(struct http_chunked *d, char *dst, const char *src,
                        size_t n, size_t *consumed, size_t *written)
{
    size_t i = 0, out = 0;

    while (i < n && d->state != CHUNK_DONE) {
        if (d->state == CHUNK_DATA) {
            size_t available = n - i < d->left ? n - i : (size_t)d->left;
            memmove(dst + out, src + i, available); /* they may overlap */
            out += available;
            i += available;
            d->left -= available;
            if (d->left == 0)
                d->state = CHUNK_DATA_CR;
            continue;
        }
        d->state = next_state(d, src[i++]);
        if (d->state == CHUNK_MALFORMED)
            return -400;
        /* Checked after each digit, so that `left` never overflows. */
        if (d->left > HTTP_BODY_MAX || d->overhead > HTTP_CHUNK_OVERHEAD)
            return -413;
    }
    *consumed = i;
    *written = out;
    return 0;
}
