/* http_chunked - decodes byte by byte, data in runs; see http_chunked.h.
 *
 * The functions below return the state after a byte, or -400 if the grammar
 * does not allow it. Extensions are, in the ABNF of RFC 9112, 7.1.1,
 *     *( BWS ";" BWS name [ BWS "=" BWS ( token / quoted-string ) ] ) */
#include "http_chunked.h"

#include <ctype.h>

static int only_if(bool allowed, enum http_chunk_state next)
{
    return allowed ? (int)next : -400;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Behind the size, a name or a value: the line or the extension ends. */
static int end_word(char c)
{
    if (is_blank(c))
        return CHUNK_BLANK;
    if (c == ';')
        return CHUNK_SEMICOLON;
    return only_if(c == '\r', CHUNK_SIZE_CR);
}

static int in_size(char c)
{
    return isxdigit((unsigned char)c) ? CHUNK_SIZE : end_word(c);
}

static int in_blanks(char c)
{
    if (is_blank(c))
        return CHUNK_BLANK;
    return only_if(c == ';', CHUNK_SEMICOLON);
}

static int before_name(char c)
{
    if (is_blank(c))
        return CHUNK_SEMICOLON;
    return only_if(http_is_token_char(c), CHUNK_NAME);
}

static int behind_name(char c)
{
    if (is_blank(c))
        return CHUNK_NAME_BLANK;
    if (c == '=')
        return CHUNK_EQUALS;
    return only_if(c == ';', CHUNK_SEMICOLON);
}

static int in_name(char c)
{
    if (http_is_token_char(c))
        return CHUNK_NAME;
    if (c == '\r')
        return CHUNK_SIZE_CR;
    return behind_name(c);
}

static int before_value(char c)
{
    if (is_blank(c))
        return CHUNK_EQUALS;
    if (c == '"')
        return CHUNK_QUOTED;
    return only_if(http_is_token_char(c), CHUNK_WORD);
}

static int in_word(char c)
{
    return http_is_token_char(c) ? CHUNK_WORD : end_word(c);
}

static int in_quotes(char c)
{
    if (c == '"')
        return CHUNK_QUOTE_END;
    if (c == '\\')
        return CHUNK_QUOTED_PAIR;
    return only_if(http_is_value_char(c), CHUNK_QUOTED);
}

static int before_trailer(char c)
{
    if (c == '\r')
        return CHUNK_END_CR;
    return only_if(http_is_token_char(c), CHUNK_TRAILER_NAME);
}

static int in_trailer_name(char c)
{
    if (c == ':')
        return CHUNK_TRAILER_VALUE;
    return only_if(http_is_token_char(c), CHUNK_TRAILER_NAME);
}

static int in_trailer_value(char c)
{
    if (c == '\r')
        return CHUNK_TRAILER_CR;
    return only_if(http_is_value_char(c), CHUNK_TRAILER_VALUE);
}

static int next_state(enum http_chunk_state state, char c)
{
    switch (state) {
    case CHUNK_START: return only_if(isxdigit((unsigned char)c), CHUNK_SIZE);
    case CHUNK_SIZE: return in_size(c);
    case CHUNK_SIZE_CR: return only_if(c == '\n', CHUNK_DATA);
    case CHUNK_DATA_END: return only_if(c == '\r', CHUNK_DATA_CR);
    case CHUNK_DATA_CR: return only_if(c == '\n', CHUNK_START);
    case CHUNK_BLANK: return in_blanks(c);
    case CHUNK_SEMICOLON: return before_name(c);
    case CHUNK_NAME: return in_name(c);
    case CHUNK_NAME_BLANK: return behind_name(c);
    case CHUNK_EQUALS: return before_value(c);
    case CHUNK_WORD: return in_word(c);
    case CHUNK_QUOTED: return in_quotes(c);
    case CHUNK_QUOTED_PAIR: return only_if(http_is_value_char(c), CHUNK_QUOTED);
    case CHUNK_QUOTE_END: return end_word(c);
    case CHUNK_TRAILER: return before_trailer(c);
    case CHUNK_TRAILER_NAME: return in_trailer_name(c);
    case CHUNK_TRAILER_VALUE: return in_trailer_value(c);
    case CHUNK_TRAILER_CR: return only_if(c == '\n', CHUNK_TRAILER);
    case CHUNK_END_CR: return only_if(c == '\n', CHUNK_DONE);
    case CHUNK_DATA:
    case CHUNK_DONE: break; /* no byte is read in these */
    }
    return -400;
}

/* Returns whether a byte counts towards HTTP_CHUNK_OVERHEAD: all bytes of
 * extensions and trailers do, and of a size its leading zeros. */
static bool is_overhead(const struct http_chunked *d, char c)
{
    switch (d->state) {
    case CHUNK_START:
    case CHUNK_SIZE: return c == '0' && d->left == 0;
    case CHUNK_SIZE_CR:
    case CHUNK_DATA:
    case CHUNK_DATA_END:
    case CHUNK_DATA_CR: return false;
    default: return true;
    }
}

/* Reads one byte of the framing. Returns 0 or minus a status. */
static int read_framing(struct http_chunked *d, char c)
{
    int next = next_state(d->state, c);
    if (next < 0)
        return next;
    if (is_overhead(d, c))
        d->overhead++;
    if (next == CHUNK_SIZE)
        d->left = d->left * 16 + (unsigned)hex_value(c);
    if (d->left > HTTP_BODY_MAX || d->overhead > HTTP_CHUNK_OVERHEAD)
        return -413;
    d->state = (enum http_chunk_state)next;
    if (next == CHUNK_DATA && d->left == 0) /* the last chunk has no data */
        d->state = CHUNK_TRAILER;
    return 0;
}

/* Moves the data of a chunk, as much as there is; returns how much. */
static size_t move_data(struct http_chunked *d, char *dst, const char *src,
                        size_t n)
{
    if (n > d->left)
        n = (size_t)d->left;
    memmove(dst, src, n); /* may overlap */
    d->left -= n;
    if (d->left == 0)
        d->state = CHUNK_DATA_END;
    return n;
}

int http_chunked_decode(struct http_chunked *d, char *dst, const char *src,
                        size_t n, size_t *consumed, size_t *written)
{
    size_t i = 0, out = 0;
    while (i < n && d->state != CHUNK_DONE) {
        if (d->state == CHUNK_DATA) {
            size_t moved = move_data(d, dst + out, src + i, n - i);
            out += moved;
            i += moved;
        } else {
            int status = read_framing(d, src[i++]);
            if (status != 0)
                return status;
        }
    }
    *consumed = i;
    *written = out;
    return 0;
}
