/* coroutine - stacks, and the switch between them; see coroutine.h. */
#include "coroutine.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

/* The stack of a coroutine: address space, of which only the pages that were
 * touched are memory. Below it is a page that no code may touch: a stack that
 * overflows ends the server with SIGSEGV. Without that page it would grow into
 * the stack of another client, unnoticed. */
enum { STACK_SIZE = 64 * 1024 };

/* A stack that is freed waits for the next coroutine: mmap(2), munmap(2) and
 * the page faults of the first touch cost more than a short answer. */
enum { SPARE_STACKS = 64 };

struct coroutine {
    void (*function)(void *);
    void *argument;
    bool ended;
    struct coroutine *resumer; /* who ran before it; NULL: the thread itself */
    char *area;                /* of mmap(2): the guard page, then the stack */
    void *stack_pointer;       /* OWN: where it stands while it does not run */
    ucontext_t context;        /* CONTEXT: the same, and its signal mask */
    struct coroutine *next;    /* among the spare ones */
};

/* One thread, so one of each. */
static enum coroutine_switch chosen = COROUTINE_OWN;
static struct coroutine *running; /* NULL: the thread, on its own stack */
static struct coroutine thread;   /* where that stands while others run */
static struct coroutine *spare;
static int spares;

void coroutine_choose(enum coroutine_switch how)
{
    chosen = how;
}

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* ------------------------------------------------------------ the switch */

static void switch_to(struct coroutine *from, struct coroutine *to)
{
    if (chosen == COROUTINE_OWN)
        coroutine_switch(&from->stack_pointer, to->stack_pointer);
    else
        swapcontext(&from->context, &to->context);
}

/* The first function on a new stack. It must not return: nothing has called
 * it. */
static void begin(void)
{
    struct coroutine *self = running;
    self->function(self->argument);
    self->ended = true;
    for (;;)
        coroutine_yield();
}

/* Makes the coroutine begin with begin() when it is first switched to. */
static void prepare(struct coroutine *coroutine)
{
    char *stack = coroutine->area + page_size();
    if (chosen == COROUTINE_OWN) {
        coroutine->stack_pointer =
            coroutine_prepare(stack + STACK_SIZE, begin);
        if (coroutine->stack_pointer != NULL)
            return;
        chosen = COROUTINE_CONTEXT; /* this is the first one */
    }
    getcontext(&coroutine->context);
    coroutine->context.uc_stack.ss_sp = stack;
    coroutine->context.uc_stack.ss_size = STACK_SIZE;
    coroutine->context.uc_link = NULL; /* begin() does not return */
    makecontext(&coroutine->context, begin, 0);
}

/* ---------------------------------------------------------------- stacks */

/* Returns a coroutine with a stack, or NULL with errno. */
static struct coroutine *allocate(void)
{
    struct coroutine *coroutine = spare;
    if (coroutine != NULL) {
        spare = coroutine->next;
        spares--;
        return coroutine;
    }
    coroutine = calloc(1, sizeof *coroutine);
    if (coroutine == NULL)
        return NULL;
    size_t guard = page_size();
    char *area = mmap(NULL, guard + STACK_SIZE, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (area != MAP_FAILED && mprotect(area, guard, PROT_NONE) == 0) {
        coroutine->area = area;
        return coroutine;
    }
    if (area != MAP_FAILED)
        munmap(area, guard + STACK_SIZE);
    free(coroutine);
    return NULL;
}

struct coroutine *coroutine_new(void (*function)(void *), void *argument)
{
    struct coroutine *coroutine = allocate();
    if (coroutine == NULL)
        return NULL;
    coroutine->function = function;
    coroutine->argument = argument;
    coroutine->ended = false;
    prepare(coroutine);
    return coroutine;
}

void coroutine_free(struct coroutine *coroutine)
{
    if (spares < SPARE_STACKS) {
        coroutine->next = spare;
        spare = coroutine;
        spares++;
        return;
    }
    munmap(coroutine->area, page_size() + STACK_SIZE);
    free(coroutine);
}

/* --------------------------------------------------------------- running */

bool coroutine_resume(struct coroutine *coroutine)
{
    struct coroutine *self = running != NULL ? running : &thread;
    coroutine->resumer = running;
    running = coroutine;
    switch_to(self, coroutine);
    /* It has yielded, and running is this one again. */
    return !coroutine->ended;
}

void coroutine_yield(void)
{
    struct coroutine *self = running;
    struct coroutine *resumer = self->resumer;
    running = resumer;
    switch_to(self, resumer != NULL ? resumer : &thread);
}
