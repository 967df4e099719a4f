/*
 * sandbox - what a server that was taken over could still do: little.
 *
 * A fault in the parser may one day let a stranger run code inside the server.
 * Landlock (landlock(7), Linux 5.13) lets a process give rights to files away,
 * for itself and all its children, for good and without being root. After the
 * start a server reads the site and /proc, where the report finds the CPU time
 * of children, and writes the access log if there is one. So that is all that
 * remains; to open any other file, /etc/passwd included, to make or delete one or
 * to run a program is refused by the kernel with EACCES, even to root.
 *
 * What is open already stays open: sockets, the log, standard error. Sockets are
 * no files to Landlock, so Redis is reached as before. And it is silent about
 * rights and owners (chmod(2), chown(2)), stat(2) and signals: a server that was
 * started by root still needs --user.
 */
#ifndef SANDBOX_H
#define SANDBOX_H

enum sandbox_right {
    SANDBOX_READ, /* what is in a folder, and in the folders below it */
    SANDBOX_WRITE /* files there may be made and written, but not read */
};

/* A set of rights that is being made; -1: this kernel has no Landlock. */
struct sandbox {
    int ruleset;
    int abi; /* version of Landlock's interface; 0: none */
};

/* Begins with no right at all. */
void sandbox_begin(struct sandbox *sandbox);

/* Adds a right to a folder, given as a descriptor (O_PATH is enough). */
void sandbox_allow(struct sandbox *sandbox, int folder,
                   enum sandbox_right right);

/* From here on the calling thread, and every thread and process that it makes,
 * has only the rights that were added. Returns the version of Landlock that
 * sees to it, or 0 when nothing has changed: a kernel without Landlock, or one
 * that does not let us, serves as well as before. */
int sandbox_enter(struct sandbox *sandbox);

#endif
