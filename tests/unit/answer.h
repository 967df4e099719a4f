/*
 * answer - reads our own answers, more strictly than any client does.
 *
 * Whatever a server of ours sends has to pass here: unit tests and fuzz
 * targets give it all bytes that a connection wrote.
 */
#ifndef ANSWER_H
#define ANSWER_H

#include <stdbool.h>

#include "slice.h"

struct answer {
    int status;
    struct slice head; /* the fields, without the status line */
    struct slice body;
    bool close;        /* it said Connection: close */
};

/* Takes one answer off *bytes. `to_head` says that it answers HEAD, and so has
 * no body whatever its Content-Length. Returns NULL, or what is wrong. */
const char *answer_read(struct slice *bytes, bool to_head,
                        struct answer *answer);

/* A field's value; its p is NULL when there is no such field. */
struct slice answer_field(const struct answer *answer, const char *name);

#endif
