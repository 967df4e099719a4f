/*
 * text - what pages do with text: decode forms, fill templates, escape.
 */
#pragma once

#include "bytes.h"

/* Appends the decoded value of the first field called name; without '=' it
 * is empty. Returns 1; 0 when there is no such field; -1 when an escape in
 * the value is malformed. Out of memory shows only in out->failed. */
int form_get(struct slice encoded, struct slice name, struct buffer *out);

struct template_value {
    struct slice name;  /* the place, with its two '$' */
    struct slice value; /* what replaces it ... */
    bool is_html;       /* ... as it is; else it is escaped */
};

/* Returns the length of the place that the text begins with: "$NAME$", in
 * capitals and '_'. Returns 0 if there is none; any other '$' is text. */
size_t template_place(struct slice text);

/* Appends the template to *out with its places replaced. A '$' that does not
 * begin one of the n names stays as it is. Returns false if such a '$' begins
 * a place, which then has no value. */
bool template_render(struct buffer *out, struct slice text,
                     const struct template_value *values, size_t n);

/* Makes each line end in n bytes of text one LF: CR LF, as a form sends it
 * (HTML, "constructing the entry list"), and CR alone. Returns the new
 * length, which is at most n. */
size_t text_unify_line_ends(char *text, size_t n);

/* Reads one Unicode character at s.p into *code. Returns its length in
 * bytes, 1 to 4, or 0 where s is not UTF-8 (overlong forms, surrogates and
 * numbers above U+10FFFF are not: RFC 3629), or has a noncharacter that XML
 * forbids, or a control character. White space is none; U+007F to U+009F
 * are. XML allows those and advises against them (XML 1.0, 2.2); in HTML
 * they are an error ("control-character-in-input-stream"). */
size_t text_utf8_next(struct slice s, unsigned *code);

/* Returns the number of Unicode characters in s, or -1 if text_utf8_next()
 * finds none at some place in it. */
long text_utf8_length(struct slice s);

/* Appends s so that browsers and XML parsers show it as text, inside
 * elements and quoted attributes: & < > " ' become references. A byte that
 * begins no character for text_utf8_next() becomes U+FFFD, the replacement
 * character. */
void text_append_escaped(struct buffer *b, struct slice s);

/* Appends s as part of a path in a URL: letters, digits and -._~ as they
 * are, other bytes as %XX (RFC 3986, 2.3). */
void text_append_percent_encoded(struct buffer *b, struct slice s);
