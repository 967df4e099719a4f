/*
 * output - lines for people, on descriptors that other programs share.
 *
 * Standard output and standard error may be pipes whose readers have stopped
 * reading, or a terminal that Ctrl-S has stopped. An ordinary write(2) waits
 * then: a server would keep its clients waiting to tell what it has served, or
 * never end. O_NONBLOCK is no way out, because it belongs to the open file
 * description (fcntl(2)), which the shell and other programs share. So we ask
 * poll(2) for room, and a line that finds none is lost.
 */
#pragma once

#include "bytes.h"

/* How long a line waits for room: a reader that is alive makes some within this
 * time, and a loop that waits without result delays its clients by no more. */
enum { OUTPUT_WAIT_MS = 250 };

/* Returns whether a line fits into what fd refers to, waiting up to wait_ms for
 * room. For a pipe, Linux reports room when one page, PIPE_BUF bytes, is free;
 * a regular file always has some. Another process may take the room before it
 * is used: then the write waits all the same. A signal ends the wait. */
bool output_has_room(int fd, int wait_ms);

/* Writes a line of at most PIPE_BUF bytes to fd in one write(2), so that it
 * does not mix with those of other processes. Drops it if there is no room. */
void output_line(int fd, struct slice line);
