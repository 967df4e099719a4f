/*
 * answer - reads our own answers, more strictly than any client does.
 *
 * Whatever a server of ours sends has to pass here: unit tests and fuzz
 * targets give it all bytes that a connection wrote.
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
    bool close; /* it said Connection: close */
};

/* Takes one answer off *bytes. `to_head` says that it answers HEAD, and so has
 * no body whatever its Content-Length. Returns NULL, or what is wrong. */
const char *answer_read(struct slice *bytes, bool to_head,
                        struct answer *answer);

/* The value of the first field of this name; p is NULL when there is none. */
struct slice answer_field(const struct answer *answer, const char *name);

#endif
