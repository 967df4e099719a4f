/*
 * sandbox - limits what a compromised server could do.
 *
 * A bug in the parser may one day let an attacker run code inside the
 * server. So it gives up what it needs at the start only: root's rights,
 * and with Landlock (landlock(7), Linux 5.13) most rights to files. Both
 * are for good, for the process and its children; Landlock needs no root.
 *
 * A server needs to read the site, and /proc, which the C library and the
 * sanitizers look into, and to write the access log. The kernel refuses to
 * open any other file, to create or delete one and to run a program, with
 * EACCES and even to root; since Linux 6.2 also to shorten a file
 * (truncate(2)). Open descriptors stay open, and sockets are not files to
 * Landlock. It does not cover chmod(2), chown(2), utime(2), setxattr(2),
 * stat(2) and signals: a server that root starts still needs --user.
 */
#pragma once

#include <stdbool.h>

/* Gives up root's rights and becomes this user. Failure ends the program.
 *
 * Root is needed for a port below 1024 only. Call it before the files of
 * the site and the log are opened: where the user may write to a folder, a
 * symbolic link would make root read, create or give away any file of the
 * system. And a log that the user can open now is one that SIGHUP can
 * reopen. */
void sandbox_become_user(const char *name);

/* Enters the sandbox. The process may still read below the folder `site`, a
 * descriptor, and write and create files below the folder of the file
 * `log`, unless that is NULL. Returns false on a kernel without Landlock;
 * then only no_new_privs is set, for good (prctl(2)). Call it when
 * everything is open. */
bool sandbox_enter(int site, const char *log);
