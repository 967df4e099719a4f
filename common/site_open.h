/*
 * site_open - opens the folders of a site and reads its templates, once,
 * before the first fork(2). Apart from site.h, because it knows all pages
 * and each page knows its site.
 */
#pragma once

#include "site.h"

/* Opens public/ in the folder `root`, lists its pictures, reads the templates
 * of all pages and notes whether one of them names its client. What is
 * missing or wrong ends the program with a sentence. */
void site_open(struct site *site, const char *root);
