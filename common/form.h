/*
 * form - application/x-www-form-urlencoded, as browsers send it.
 *
 * name=value&name=value, with %XX for a byte and + for a space (WHATWG URL
 * Standard, 5). A query string has the same form.
 */
#ifndef FORM_H
#define FORM_H

#include "buffer.h"
#include "slice.h"

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

#endif
