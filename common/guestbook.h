/*
 * guestbook - a page that needs Redis three times.
 *
 * GET fetches the newest remarks, counts the visit, and fetches the count, one
 * command after the other: each round trip is a wait, and how a server waits is
 * what this collection compares. With --pipeline the three go out together.
 *
 * POST appends "remark - name" to the list, which keeps the newest 10,000, and
 * says thanks once Redis has acknowledged the remark.
 */
#pragma once

#include "http_exchange.h"

enum {
    GUESTBOOK_NAME_MAX = 64, /* Unicode characters */
    GUESTBOOK_TEXT_MAX = 1000
};

void guestbook_answer(struct http_exchange *x);

/* Checks a name and a remark, both trimmed. Returns NULL, or a sentence that
 * tells the guest what to change. */
const char *guestbook_check(struct slice name, struct slice text);
