/*
 * Lab 09 - functions that stop in the middle, and go on there later.
 *
 * A coroutine is a function with a stack of its own. It runs until it calls
 * coroutine_yield(): then the code that has resumed it goes on, and all that
 * it has on its stack stays as it is. After another coroutine_resume(),
 * coroutine_yield() returns.
 *
 * Nothing to write here: this is the contract.
 */
