/*
 * guestbook - the rules for what a guest may write; guestbook.c has the
 * page.
 */
#pragma once

#include "bytes.h"

enum {
    GUESTBOOK_NAME_MAX = 64, /* Unicode characters */
    GUESTBOOK_TEXT_MAX = 1000
};

/* Checks a name and a remark, both trimmed. Returns NULL, or a sentence
 * that tells the guest what to change. */
const char *guestbook_check(struct slice name, struct slice text);
