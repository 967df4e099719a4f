/* http_parser - parses line by line; see http_parser.h.
 *
 * If the head is incomplete, the next call parses it again from its start.
 * That is cheap, because almost every head arrives in one piece, and it
 * leaves no half-parsed state to get wrong. The functions that parse a part
 * of the head return 0, or minus the status of the response. */
#include "http_parser.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>

/* Bytes of a token (RFC 9110, 5.6.2), of a host name (RFC 3986, 3.2.2), or
 * of both. '%' starts a percent-encoded byte of a host name. (a ... b is
 * GNU C.) */
enum { IN_TOKEN = 1, IN_HOST = 2, IN_BOTH = 3 };
static const unsigned char byte_class[256] = {
    ['0' ... '9'] = IN_BOTH, ['A' ... 'Z'] = IN_BOTH, ['a' ... 'z'] = IN_BOTH,
    ['!'] = IN_BOTH, ['$'] = IN_BOTH, ['%'] = IN_BOTH, ['&'] = IN_BOTH,
    ['\''] = IN_BOTH, ['*'] = IN_BOTH, ['+'] = IN_BOTH, ['-'] = IN_BOTH,
    ['.'] = IN_BOTH, ['_'] = IN_BOTH, ['~'] = IN_BOTH, ['#'] = IN_TOKEN,
    ['^'] = IN_TOKEN, ['`'] = IN_TOKEN, ['|'] = IN_TOKEN, ['('] = IN_HOST,
    [')'] = IN_HOST, [','] = IN_HOST, [';'] = IN_HOST, ['='] = IN_HOST,
};

bool http_is_token_char(char c)
{
    return (byte_class[(unsigned char)c] & IN_TOKEN) != 0;
}

bool http_is_value_char(char c)
{
    return ((unsigned char)c >= ' ' && c != 0x7f) || c == '\t';
}

static bool is_target_char(char c) /* visible ASCII; '#' starts a fragment */
{
    return c > ' ' && c < 0x7f && c != '#';
}

/* Cuts a word and the separator after it off *s. Returns false if the word
 * is empty, or if *s ends or has another byte after it. */
static inline bool cut_word(struct slice *s, bool (*in_class)(char),
                            char separator, struct slice *word)
{
    size_t n = 0;
    while (n < s->n && in_class(s->p[n]))
        n++;
    *word = (struct slice){s->p, n};
    bool found = n > 0 && n < s->n && s->p[n] == separator;
    if (found)
        n++; /* the separator */
    *s = (struct slice){s->p + n, s->n - n};
    return found;
}

/* Cuts the next line off *s; *line does not include its line end. Returns
 * false if the LF has not arrived yet. */
static bool cut_line(struct slice *s, struct slice *line)
{
    *line = slice_next(s, '\n');
    const bool complete = s->p > line->p + line->n; /* behind the LF */
    if (line->n > 0 && line->p[line->n - 1] == '\r')
        line->n--;
    return complete;
}

/* Returns the length of the IPv6 address in brackets at the start of s, or
 * 0 if it is invalid. */
static size_t ipv6_length(struct slice s)
{
    char text[INET6_ADDRSTRLEN + 1]; /* what is cut off is too long anyway */
    struct in6_addr address;
    const char *bracket = memchr(s.p, ']', s.n);
    if (bracket == NULL)
        return 0;
    int n = (int)(bracket - s.p) - 1;
    snprintf(text, sizeof text, "%.*s", n, s.p + 1);
    if (inet_pton(AF_INET6, text, &address) != 1)
        return 0;
    return (size_t)n + 2;
}

/* Returns whether s is a host, perhaps with ':' and a port (RFC 9112, 3.2).
 * A name and a port may be empty (RFC 3986, 3.2). If this server accepted
 * more, it and a proxy might find different hosts in one request. */
static bool is_authority(struct slice s)
{
    size_t n = 0;
    if (s.n > 0 && s.p[0] == '[')
        n = ipv6_length(s);
    else
        for (; n < s.n && byte_class[(unsigned char)s.p[n]] & IN_HOST; n++)
            if (s.p[n] == '%') {
                struct slice escape = {s.p + n, s.n - n};
                if (slice_next_decoded(&escape) < 0)
                    return false;
            }
    struct slice port = {s.p + n, s.n - n};
    if (port.n == 0)
        return true;
    if (port.p[0] != ':')
        return false;
    slice_skip(&port, 1);
    return slice_next_number(&port) <= UINT16_MAX && port.n == 0;
}

static enum http_method method_of(struct slice name) /* case-sensitive */
{
    if (slice_equal(name, SLICE("GET")))
        return HTTP_GET;
    if (slice_equal(name, SLICE("HEAD")))
        return HTTP_HEAD;
    if (slice_equal(name, SLICE("POST")))
        return HTTP_POST;
    if (slice_equal(name, SLICE("OPTIONS")))
        return HTTP_OPTIONS;
    if (slice_equal(name, SLICE("PUT")) ||
        slice_equal(name, SLICE("DELETE")) ||
        slice_equal(name, SLICE("PATCH")) ||
        slice_equal(name, SLICE("TRACE")))
        return HTTP_REFUSED;
    return HTTP_UNKNOWN;
}

/* Splits the request target (RFC 9112, 3.2). It is "/path?query", "*" for
 * OPTIONS, or "http://host/path?query": clients send that one to proxies,
 * and a server must accept it. (All hosts name the one site of this
 * server.) */
static int parse_target(struct slice target, struct http_request *r)
{
    const struct slice scheme = SLICE("http://");
    if (r->method == HTTP_UNKNOWN)
        return 0; /* the response is 501 for any target */
    if (target.p[0] != '/' && !(r->method == HTTP_OPTIONS &&
                                slice_equal(target, SLICE("*")))) {
        size_t n = scheme.n;
        if (target.n < n || strncasecmp(target.p, scheme.p, n) != 0)
            return -400;
        while (n < target.n && target.p[n] != '/' && target.p[n] != '?')
            n++;
        struct slice host = {target.p + scheme.n, n - scheme.n};
        r->has_host = host.n > 0 && host.p[0] != ':';
        if (!r->has_host || !is_authority(host))
            return -400;
        target = (struct slice){target.p + n, target.n - n};
    }
    r->path = slice_next(&target, '?');
    if (target.p > r->path.p + r->path.n) /* behind a '?' */
        r->query = target;
    if (r->path.n == 0) /* "http://host", perhaps with a query */
        r->path = SLICE("/");
    return 0;
}

static int parse_request_line(struct slice line, struct http_request *r)
{
    struct slice method, target, rest = line;
    if (!cut_word(&rest, http_is_token_char, ' ', &method))
        return -400;
    r->method = method_of(method);
    bool more = cut_word(&rest, is_target_char, ' ', &target);
    if (target.n > HTTP_TARGET_MAX)
        return -414;
    /* 8: the length of "HTTP/1.1" */
    if (!more || rest.n != 8 || memcmp(rest.p, "HTTP/", 5) != 0 ||
        !is_digit(rest.p[5]) || rest.p[6] != '.' ||
        !is_digit(rest.p[7]))
        return -400;
    r->line = line;
    if (rest.p[5] != '1')
        return -505;
    /* Higher minor versions are compatible with 1.1 (RFC 9110, 2.5). */
    r->minor_version = rest.p[7] != '0';
    return parse_target(target, r);
}

/* What the fields say beyond struct http_request. */
struct summary {
    unsigned hosts;
    bool content_length, transfer_encoding; /* the field was sent */
    bool close, keep_alive;                 /* options of Connection */
    int error; /* minus the lowest status of an invalid field, or 0 */
};

static int parse_content_length(struct slice value, struct http_request *r,
                                struct summary *s)
{
    int64_t length = slice_next_number(&value);
    if (length < 0 || value.n > 0 ||
        (s->content_length && (uint64_t)length != r->content_length))
        return -400;
    s->content_length = true;
    r->content_length = (uint64_t)length;
    return 0;
}

static int parse_transfer_encoding(struct slice value, struct http_request *r,
                                   struct summary *s)
{
    int codings = 0;
    if (s->transfer_encoding)
        return -400;
    s->transfer_encoding = true;
    while (value.n > 0) {
        struct slice coding = slice_trim(slice_next(&value, ','));
        if (coding.n == 0)
            continue; /* an empty list element: RFC 9110, 5.6.1.2 */
        codings++;
        r->chunked = slice_equal_nocase(coding, SLICE("chunked"));
    }
    /* Only "chunked" as the last coding tells where the body ends. It does
     * in "gzip, chunked", but this server cannot decode gzip. */
    if (!r->chunked)
        return -400;
    if (codings > 1)
        return -501;
    return 0;
}

static int add_line(struct http_list *list, struct slice value)
{
    if (list->count == HTTP_LIST_LINES_MAX)
        return -431;
    list->lines[list->count++] = value;
    return 0;
}

/* Returns where a field goes that has one value and needs no parsing here,
 * or NULL for any other. */
static struct slice *single_field(struct slice name, struct http_request *r)
{
    if (slice_equal_nocase(name, SLICE("Content-Type")))
        return &r->content_type;
    if (slice_equal_nocase(name, SLICE("Range")))
        return &r->range;
    if (slice_equal_nocase(name, SLICE("If-Range")))
        return &r->if_range;
    if (slice_equal_nocase(name, SLICE("If-Modified-Since")))
        return &r->if_modified_since;
    if (slice_equal_nocase(name, SLICE("If-Unmodified-Since")))
        return &r->if_unmodified_since;
    return NULL;
}

/* Stores what one field says. The chain is cheap, because lengths are
 * compared first, and few names have the same. */
static int store_field(struct slice name, struct slice value,
                       struct http_request *r, struct summary *s)
{
    if (slice_equal_nocase(name, SLICE("Host"))) {
        s->hosts++;
        r->has_host |= value.n > 0 && value.p[0] != ':'; /* ":80" has none */
        if (!is_authority(value))
            return -400;
        return 0;
    }
    if (slice_equal_nocase(name, SLICE("Content-Length")))
        return parse_content_length(value, r, s);
    if (slice_equal_nocase(name, SLICE("Transfer-Encoding")))
        return parse_transfer_encoding(value, r, s);
    if (slice_equal_nocase(name, SLICE("If-Match")))
        return add_line(&r->if_match, value);
    if (slice_equal_nocase(name, SLICE("If-None-Match")))
        return add_line(&r->if_none_match, value);
    if (slice_equal_nocase(name, SLICE("Expect"))) {
        r->expect_continue = slice_equal_nocase(value, SLICE("100-continue"));
        if (!r->expect_continue)
            return -417;
        return 0;
    }
    if (slice_equal_nocase(name, SLICE("Connection"))) {
        while (value.n > 0) {
            struct slice option = slice_trim(slice_next(&value, ','));
            s->close |= slice_equal_nocase(option, SLICE("close"));
            s->keep_alive |= slice_equal_nocase(option, SLICE("keep-alive"));
        }
        return 0;
    }
    struct slice *single = single_field(name, r);
    if (single != NULL && single->p != NULL)
        value.n = 0; /* of two lines neither counts */
    if (single != NULL)
        *single = value;
    return 0;
}

static int parse_field(struct slice line, struct http_request *r,
                       struct summary *s)
{
    struct slice name;
    /* White space before the colon is invalid, and so is a folded line: it
     * starts with white space, so its name is empty (RFC 9112, 5). */
    if (!cut_word(&line, http_is_token_char, ':', &name))
        return -400;
    for (size_t i = 0; i < line.n; i++)
        if (!http_is_value_char(line.p[i]))
            return -400;
    /* An invalid value is reported when all fields are known. The lowest
     * status wins (they are negative here), so that the order of the fields
     * does not matter. */
    int status = store_field(name, slice_trim(line), r, s);
    if (status != 0 && (s->error == 0 || status > s->error))
        s->error = status;
    return 0;
}

/* Checks what depends on several fields. Host comes first, because RFC
 * 9112, 3.2 demands 400 whatever else is wrong. */
static ssize_t end_head(size_t length, struct http_request *r,
                        const struct summary *s)
{
    if (length > HTTP_HEAD_MAX)
        return -431;
    if (s->hosts > 1 || (s->hosts == 0 && r->minor_version >= 1))
        return -400;
    /* The target and Host make up the URI, and an http URI without a host
     * is invalid (RFC 9110, 4.2.1). RFC 9112, 3.3 lets a server refuse it
     * or fill in a default. This server refuses it: a proxy in front of it
     * might fill in another name. Only HTTP/1.0, which has no Host field,
     * needs none. */
    if (!r->has_host && r->minor_version >= 1)
        return -400;
    if (s->transfer_encoding && (s->content_length || r->minor_version == 0))
        return -400; /* RFC 9112, 6.1 and 6.3: may be request smuggling */
    if (s->error != 0)
        return s->error;
    r->expect_continue &= r->minor_version >= 1; /* RFC 9110, 10.1.1 */
    r->keep_alive = !s->close && (r->minor_version >= 1 || s->keep_alive);
    return (ssize_t)length;
}

ssize_t http_parse_head(const char *bytes, size_t length,
                        struct http_request *request)
{
    struct slice rest = {bytes, length}, line;
    struct summary summary = {0};
    *request = (struct http_request){.method = HTTP_UNKNOWN};
    int status = 0;
    while (status == 0 && cut_line(&rest, &line)) {
        if (line.n > 0 && request->line.p == NULL)
            status = parse_request_line(line, request);
        else if (line.n > 0)
            status = parse_field(line, request, &summary);
        else if (request->line.p != NULL) /* else it comes before a request:
                                             ignore it (RFC 9112, 2.2) */
            return end_head(length - rest.n, request, &summary);
    }
    if (status != 0)
        return status;
    if (length >= HTTP_HEAD_MAX && request->line.p != NULL)
        return -431;
    /* The limit is reached within the request line. RFC 9112, 3 has a
     * status for a method that is too long, and one for a target. */
    if (length >= HTTP_HEAD_MAX && line.n > 0 &&
        memchr(line.p, ' ', line.n) == NULL)
        return -501;
    if (length >= HTTP_HEAD_MAX)
        return -414;
    /* A TLS handshake has no line ends: refuse it before the first. */
    if (line.n > 0 && !http_is_token_char(line.p[0]))
        return -400;
    return 0;
}
