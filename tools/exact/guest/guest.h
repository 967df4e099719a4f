// guest.h - what the two halves of the guest's program share: init.c starts processes,
// load.c asks the server and reads the clocks.
#ifndef GUEST_H
#define GUEST_H

#include <stdint.h>

// Marks: instructions that do nothing, and that the plugin (../plugin.c) recognizes by
// their bytes. Where no plugin listens, they cost one instruction.
enum mark {
    MARK_OTHER = 1,  // this task is none of those that are measured
    MARK_SERVER,     // it is the server, as are tasks from now on that say nothing
    MARK_REDIS,      // it is Redis
    MARK_LOAD,       // it is the load
    MARK_HOLDER,     // it holds connections that never ask
    MARK_BEGIN = 16, // a window begins: the plugin counts from 0
    MARK_END,        // a window ends: the plugin writes down what it has counted
    MARK_LOAD_ENDED,
    MARK_SERVER_ENDED,
};

// nopw with a displacement of 'E', 'X', 'A' and the mark: no compiler writes that.
#define MARK(number) __asm__ volatile(".byte 0x0f, 0x1f, 0x84, 0x00, %c0, 'E', 'X', 'A'" ::"i"(number) : "memory")

// Writes the error of the last call and ends the process. PID 1 ends the machine then.
_Noreturn void fail(const char *what);

// Opens a connection to the server, the process's `number`th, from 0. Ends the process when it
// cannot.
int connect_to_server(int number);

// Moves this process into a control group below CGROUPS: "server", "redis" or "load".
void join_group(const char *name);
#define CGROUPS "/cgroup"

enum { PORT = 8000 };

// One cell, as a line of the plan says it.
struct cell {
    const char *request;  // the file that holds one request
    int connections;      // open at a time
    int keep;             // 1: all requests of a window go over these; 0: each has its own
    int pipelined;        // requests that are sent together
    int warm_up;          // requests before the first window
    int windows;          // how often it is measured
    int requests;         // of one window
};

// Measures a cell and prints a line for each window. Ends the process when an answer is
// wrong or missing. The caller has joined the group "load".
void run_cell(const struct cell *cell);

#endif
