/*
 * text - what pages do with text: decode forms, fill templates, escape.
 */
#pragma once

#include "bytes.h"

/* Takes one byte off *encoded (which is not empty), decoded; with plus_is_space
 * a '+' is a space. Returns the byte, or -1 for a '%' without two hexadecimal
 * digits. */
int form_decode_byte(struct slice *encoded, bool plus_is_space);

/* Finds the first field called name and appends its decoded value to *out.
 * Returns 1 when there is one, 0 when there is none, -1 when an escape in it is
 * malformed: what stands before the escape may have been appended then. A field
 * without '=' has an empty value. That memory ran out shows in out->failed and
 * nowhere else. */
int form_get(struct slice encoded, struct slice name, struct buffer *out);

struct template_value {
    struct slice name;  /* with its two '$' */
    struct slice value; /* what stands there instead */
};

/* Appends the template to *out, with the n values in their places. A '$' that
 * begins no known name stays as it is. */
void template_render(struct buffer *out, struct slice text,
                     const struct template_value *values, size_t n);

/* Reads one Unicode character at s.p. Returns its length in bytes, 1 to 4, and
 * the code point in *code; or 0 where there is no valid UTF-8 (overlong forms,
 * surrogates and what lies above U+10FFFF are not; RFC 3629). */
size_t text_utf8_next(struct slice s, unsigned *code);

/* Returns the number of Unicode characters in s, or -1 when it isn't UTF-8. */
long text_utf8_length(struct slice s);

/* Appends s so that a browser or an XML parser shows it as text, whatever it
 * holds: & < > " ' become references, good inside an element and inside a
 * quoted attribute. Bytes that are not UTF-8, control characters that XML
 * forbids, and DEL, which it allows but nobody can see, become U+FFFD, the
 * replacement character. */
void text_append_escaped(struct buffer *b, struct slice s);

/* Appends s as a part of a path in a URL: letters, digits and -._~ as they are,
 * every other byte as %XX (RFC 3986, 2.3). */
void text_append_percent_encoded(struct buffer *b, struct slice s);
