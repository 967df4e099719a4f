/*
 * guestbook - a page that needs Redis three times.
 *
 * GET asks for the newest remarks, counts the visitor, and asks for the count,
 * one after the other: each round trip is a wait, and what a server does with
 * its waits is what this collection is about. With --pipeline the three go out
 * together.
 *
 * POST adds "remark - name" to the list and says thanks when Redis has
 * acknowledged it, not before.
 */
#pragma once

#include "http_exchange.h"

#define GUESTBOOK_TEMPLATE "guestbook/index.html" /* below templates/ */

enum {
    GUESTBOOK_NAME_MAX = 64, /* Unicode characters */
    GUESTBOOK_TEXT_MAX = 1000
};

void guestbook_answer(struct http_exchange *x);

/* Reads the template, unless the context has a fresh copy of it. */
void guestbook_load_template(struct http_context *context);

/* What is wrong with a name and a text: a sentence for the guest that says what
 * to change, or NULL when they are fine. Both must be trimmed. */
const char *guestbook_check(struct slice name, struct slice text);
