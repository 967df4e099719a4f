/*
 * http_chunked - decodes bodies in the chunked transfer coding (RFC 9112,
 * 7.1).
 *
 * Lines end in CRLF only, and an open quote is an error: two parsers that
 * disagree on the end of a line find different chunks in the same bytes.
 */
#pragma once

#include "http_parser.h"

enum { /* extensions, trailers, leading zeros: 413 */
    HTTP_CHUNK_OVERHEAD = 16384
};

/* What has been read. Blanks are spaces and tabs. */
enum http_chunk_state {
    CHUNK_START,         /* nothing of a chunk: the first digit of its size */
    CHUNK_SIZE,          /* digits of the size */
    CHUNK_SIZE_CR,       /* size and extensions, with the CR behind them */
    CHUNK_DATA,          /* the line: `left` bytes of data follow */
    CHUNK_DATA_END,      /* the data: a CR follows */
    CHUNK_DATA_CR,       /* ... and the CR */
    /* The extensions of a chunk, ";name" or ";name=value". */
    CHUNK_BLANK,         /* blanks where an extension may follow */
    CHUNK_SEMICOLON,     /* the ';' and blanks */
    CHUNK_NAME,          /* part of the name */
    CHUNK_NAME_BLANK,    /* the name and blanks */
    CHUNK_EQUALS,        /* the '=' and blanks */
    CHUNK_WORD,          /* part of a value without quotes */
    CHUNK_QUOTED,        /* part of a value in quotes */
    CHUNK_QUOTED_PAIR,   /* ... and a backslash */
    CHUNK_QUOTE_END,     /* ... and the last quote */
    /* Behind the last chunk, which has the size 0. */
    CHUNK_TRAILER,       /* whole trailer fields, or none */
    CHUNK_TRAILER_NAME,  /* part of a field's name */
    CHUNK_TRAILER_VALUE, /* part of its value */
    CHUNK_TRAILER_CR,    /* the field, with its CR */
    CHUNK_END_CR,        /* the CR of the empty line */
    CHUNK_DONE           /* the whole body */
};

struct http_chunked { /* all zero at the start of a body */
    enum http_chunk_state state;
    uint64_t left;    /* data bytes of this chunk still to come */
    size_t overhead;  /* bytes that count towards HTTP_CHUNK_OVERHEAD */
};

/* Decodes piece by piece: reads src[0..n) and writes the chunk data to dst.
 * dst may be src, or lie before it in the same buffer. Trailer fields are
 * checked and dropped. Returns 0, or minus a status: 400 or 413. If 0,
 * *consumed bytes were read (n, unless the body ended before that) and
 * *written bytes of data found. */
int http_chunked_decode(struct http_chunked *decoder, char *dst,
                        const char *src, size_t n, size_t *consumed,
                        size_t *written);
