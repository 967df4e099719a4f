/*
 * http_date - dates as HTTP writes them (RFC 9110, 5.6.7).
 */
#pragma once

#include <time.h>

#include "bytes.h"

enum { HTTP_DATE_LENGTH = 29 }; /* Sun, 06 Nov 1994 08:49:37 GMT */

/* Writes t in this format, with a NUL. Years have four digits, so a time before
 * 1970 is written as the start of 1970, one after 9999 as the end of 9999. */
void http_date_format(char out[HTTP_DATE_LENGTH + 1], time_t t);

/* Reads any of the three formats that RFC 9110 requires. Returns (time_t)-1
 * when s is in none of them. */
time_t http_date_parse(struct slice s);
