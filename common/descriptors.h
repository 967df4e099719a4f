/*
 * descriptors - what a process needs before it opens its first file.
 */
#pragma once

/* Opens those of the descriptors 0 to 2 that are closed. The next files
 * that a server opens would get these numbers, and a warning would go to a
 * client. Failure ends the program. */
void descriptors_open_standard(void);

/* Raises the limit of open descriptors as far as an ordinary process may,
 * and returns it. The soft limit is often 1,024, for the sake of select(2);
 * a server may have what the hard limit allows (getrlimit(2)). */
int descriptors_raise_limit(void);
