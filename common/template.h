/*
 * template - a text with $PLACEHOLDERS$, filled in.
 *
 * In one pass over the template: what is put in is never looked at again, so a
 * guest whose remark is "$VISITOR_COUNT$" sees just that. Nothing is escaped
 * here; who has text from a stranger escapes it first (text.h).
 */
#ifndef TEMPLATE_H
#define TEMPLATE_H

#include "buffer.h"
#include "slice.h"

struct template_value {
    struct slice name;  /* with its two '$' */
    struct slice value; /* what stands there instead */
};

/* Appends the template to *out, with the n values in their places. A '$' that
 * begins no known name stays as it is. */
void template_render(struct buffer *out, struct slice text,
                     const struct template_value *values, size_t n);

#endif
