/*
 * coroutine - functions that stop in the middle, and go on there later.
 *
 * A coroutine is a function with a stack of its own. It runs until it calls
 * coroutine_yield(): then the code that has resumed it goes on, and all that
 * the function has on its stack stays as it is. After another
 * coroutine_resume(), coroutine_yield() returns, and the function goes on
 * behind it. Nothing runs at the same time: a coroutine runs while the one
 * that has resumed it stands still. So there is nothing to lock, and the
 * kernel knows nothing of it: it sees one thread that changes its stack
 * pointer.
 */
#pragma once

#include <stdbool.h>

struct coroutine;

/* How a stack is left for another. Choose before the first coroutine is made.
 * CONTEXT is swapcontext(3): it sets the signal mask, too, with a system call
 * each time. OWN is switch.c, some twenty instructions; where that has none for
 * this processor, CONTEXT. */
enum coroutine_switch { COROUTINE_CONTEXT, COROUTINE_OWN };
void coroutine_choose(enum coroutine_switch how);

/* Returns a coroutine that will call function(argument) when it is first
 * resumed; NULL, with errno, when there is no memory for its stack, or
 * vm.max_map_count areas are mapped (proc(5)). */
struct coroutine *coroutine_new(void (*function)(void *), void *argument);

/* Lets it run until it yields or its function returns. Returns false when the
 * function has returned: then only coroutine_free() may follow. Another
 * coroutine may call it, but not this one. */
bool coroutine_resume(struct coroutine *coroutine);

/* Lets the one go on that has resumed this coroutine. Returns when it is
 * resumed again. Only a coroutine may call it. */
void coroutine_yield(void);

/* Frees one that does not run: its function has returned, or it was never
 * resumed. What is on the stack of one that has only yielded is lost. */
void coroutine_free(struct coroutine *coroutine);

/* switch.c. Saves on the stack that runs what a function leaves as it was, and
 * the stack pointer in *from; makes `to` the stack pointer, and fetches the
 * same from there. It returns on that stack, to where that was left. */
void coroutine_switch(void **from, void *to);

/* switch.c. Makes the stack that ends below `top`, a multiple of 16, look as if
 * coroutine_switch() had left it just before the first instruction of begin(),
 * which never returns. Returns its stack pointer; NULL: there is no switch for
 * this processor. */
void *coroutine_prepare(char *top, void (*begin)(void));
