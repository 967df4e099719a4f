/*
 * text - UTF-8, and text that strangers wrote made safe to show.
 */
#ifndef TEXT_H
#define TEXT_H

#include "buffer.h"
#include "slice.h"

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

#endif
