/*
 * output - lines for people, on descriptors that other programs share.
 *
 * Standard output and standard error may be pipes whose readers have
 * stopped reading, or a terminal that Ctrl-S has stopped. An ordinary
 * write(2) waits then: a server would keep its clients waiting to tell what
 * it has served, or never end. O_NONBLOCK is no way out, because it belongs
 * to the open file description (fcntl(2)), which the shell and other
 * programs share. So we ask poll(2) first, and a line that would have to
 * wait is lost.
 */
#pragma once

#include "bytes.h"

/* How long a line waits for its reader: one that is alive reads within this
 * time, and a loop that waits without result delays its clients by no
 * more. */
enum { OUTPUT_WAIT_MS = 250 };

/* Returns whether fd takes a line, waiting up to wait_ms until it does. For
 * a pipe, Linux reports that when PIPE_BUF bytes are free; a regular file
 * always takes one. Another process may fill the pipe before we write: then
 * the write waits all the same. A signal ends the wait. */
bool output_is_writable(int fd, int wait_ms);

/* Writes a line of at most PIPE_BUF bytes to fd in one write(2), so that it
 * does not mix with those of other processes. Drops it if fd does not take
 * it within OUTPUT_WAIT_MS. */
void output_line(int fd, struct slice line);
