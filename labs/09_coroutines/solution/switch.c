/*
 * switch - from one stack to another; see coroutine.h.
 *
 * To the compiler, coroutine_switch() is a call like any other. So it saves
 * the registers that the calling convention says a function leaves as they
 * were, and no more: what the caller still needs of all others, the compiler
 * has saved before the call. What a switch saves lies on the stack that it
 * leaves, and `ret` takes the address to return to from the stack that it has
 * come to. (The rounding mode of floating-point numbers is not saved: no code
 * here changes it.)
 */
#include "coroutine.h"

#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)
/* System V ABI for x86-64, 3.2.1: rbx, rbp, r12 to r15. */
enum { SAVED_WORDS = 6, RETURN_WORD = 6 };
__asm__(".text\n"
        ".globl coroutine_switch\n"
        ".type coroutine_switch, @function\n"
        "coroutine_switch:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size coroutine_switch, . - coroutine_switch\n");
#elif defined(__aarch64__)
/* Procedure Call Standard for Arm, 6.1: x19 to x29, the low halves of v8 to
 * v15, and x30, which holds where to return to. */
enum { SAVED_WORDS = 20, RETURN_WORD = 11 };
__asm__(".text\n"
        ".globl coroutine_switch\n"
        ".type coroutine_switch, %function\n"
        "coroutine_switch:\n"
        "    sub sp, sp, #160\n"
        "    stp x19, x20, [sp]\n"
        "    stp x21, x22, [sp, #16]\n"
        "    stp x23, x24, [sp, #32]\n"
        "    stp x25, x26, [sp, #48]\n"
        "    stp x27, x28, [sp, #64]\n"
        "    stp x29, x30, [sp, #80]\n"
        "    stp d8, d9, [sp, #96]\n"
        "    stp d10, d11, [sp, #112]\n"
        "    stp d12, d13, [sp, #128]\n"
        "    stp d14, d15, [sp, #144]\n"
        "    mov x9, sp\n"
        "    str x9, [x0]\n"
        "    mov sp, x1\n"
        "    ldp x19, x20, [sp]\n"
        "    ldp x21, x22, [sp, #16]\n"
        "    ldp x23, x24, [sp, #32]\n"
        "    ldp x25, x26, [sp, #48]\n"
        "    ldp x27, x28, [sp, #64]\n"
        "    ldp x29, x30, [sp, #80]\n"
        "    ldp d8, d9, [sp, #96]\n"
        "    ldp d10, d11, [sp, #112]\n"
        "    ldp d12, d13, [sp, #128]\n"
        "    ldp d14, d15, [sp, #144]\n"
        "    add sp, sp, #160\n"
        "    ret\n"
        ".size coroutine_switch, . - coroutine_switch\n");
#endif

#if defined(__x86_64__) || defined(__aarch64__)
void *coroutine_prepare(char *top, void (*begin)(void))
{
    /* One word above what a switch takes from the stack, so that begin() finds
     * it as after a call: on x86-64, 8 below a multiple of 16. One more, for
     * a stack pointer that is itself a multiple of 16. */
    uintptr_t *words = (uintptr_t *)(void *)top - SAVED_WORDS - 2;
    for (int i = 0; i < SAVED_WORDS + 2; i++)
        words[i] = 0;
    words[RETURN_WORD] = (uintptr_t)begin;
    return words;
}
#else
void coroutine_switch(void **from, void *to)
{
    (void)from;
    (void)to;
}

void *coroutine_prepare(char *top, void (*begin)(void))
{
    (void)top;
    (void)begin;
    return NULL;
}
#endif
