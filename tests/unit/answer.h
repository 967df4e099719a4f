/*
 * answer - reads our own answers, more strictly than any client does.
 *
 * Unit tests and fuzz targets pass it everything that a connection wrote.
 */
#ifndef ANSWER_H
#define ANSWER_H

#include <stdbool.h>

#include "bytes.h"

enum { ANSWER_FIELDS_MAX = 24 }; /* none of ours has more */

struct answer {
    int status;
    struct {
        struct slice name, value;
    } fields[ANSWER_FIELDS_MAX];
    size_t n_fields;
    struct slice body;
    bool close; /* it has Connection: close */
};

/* Removes one answer from *bytes. With `to_head` it answers HEAD and has no
 * body, whatever its Content-Length. Returns NULL, or what is wrong with it. */
const char *answer_read(struct slice *bytes, bool to_head,
                        struct answer *answer);

/* Returns the value of the first field of this name; p is NULL if absent. */
struct slice answer_field(const struct answer *answer, const char *name);

#endif
