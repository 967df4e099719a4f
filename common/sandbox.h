/*
 * sandbox - limits what a compromised server could do, with Landlock.
 *
 * A bug in the parser may one day let an attacker run code inside the server.
 * Landlock (landlock(7), Linux 5.13) lets a process give up rights to files, for
 * itself and all its children, for good, without being root. After its start a
 * server reads the site and /proc (for the CPU time in its report), and writes
 * the access log. Nothing else remains: the kernel refuses with EACCES to open
 * /etc/passwd, to create or delete a file, or to run a program, even to root.
 *
 * What is already open stays open. Sockets are not files to Landlock, so Redis
 * is reached as before. Landlock does not cover chmod(2), chown(2), stat(2) and
 * signals: a server started by root still needs --user.
 */
#ifndef SANDBOX_H
#define SANDBOX_H

struct server;

/* Enters the sandbox; with --verbose, prints its version. On a kernel without
 * Landlock nothing changes. Call it when everything is open. */
void sandbox_enter(const struct server *server);

#endif
