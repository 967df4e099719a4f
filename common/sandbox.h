/*
 * sandbox - limits what a compromised server could do, with Landlock.
 *
 * A bug in the parser may one day let an attacker run code inside the server.
 * With Landlock (landlock(7), Linux 5.13) a process gives up rights to files
 * for good, for itself and its children, without being root. A server needs to
 * read the site and /proc, for the CPU time in its report, and to write the
 * access log. The kernel refuses everything else with EACCES, even to root: to
 * open /etc/passwd, to create or delete a file, to run a program.
 *
 * Open descriptors stay open, and sockets are not files to Landlock. It does
 * not cover chmod(2), chown(2), stat(2) and signals: a server that root starts
 * still needs --user.
 */
#pragma once

struct server;

/* Enters the sandbox; with --verbose, says so. On a kernel without
 * Landlock nothing changes. Call it when everything is open. */
void sandbox_enter(const struct server *server);
