/*
 * Lab 09 - stacks, and the switch between them.
 *
 * TO WRITE here: coroutine_resume and coroutine_yield (step 1), the guard page
 * in allocate (step 5).
 */

/* TO WRITE. Makes this coroutine the one that runs (`running`), remembers who
 * ran before (`resumer`; NULL: the thread itself), and switches to it with
 * switch_to(). That call returns when the coroutine yields. Returns whether it
 * may be resumed again: begin() says when its function has returned. */
bool coroutine_resume(struct coroutine *coroutine)
{
    (void)coroutine;
    return true;
}

/* TO WRITE. Makes the one that has resumed this coroutine the one that runs,
 * and switches to it; to `thread`, if that was the thread itself. */
void coroutine_yield(void)
{
    (void)thread;
    (void)switch_to;
}

/* Returns a coroutine with a stack, or NULL with errno.
 * TO WRITE: below the stack, a page that no code may touch: mprotect(2). The
 * stack grows down, so its end is at its lowest address. */
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
    char *area = mmap(NULL, page_size() + STACK_SIZE, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (area != MAP_FAILED) {
        coroutine->area = area;
        return coroutine;
    }
    free(coroutine);
    return NULL;
}
