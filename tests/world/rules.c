/* rules - what must hold in every world; see sim.h. */
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>

void rules_reset(void) {}
void rules_answer(struct client *c) { (void)c; }
void rules_end(struct client *c) { (void)c; }
void rules_log(const char *line, size_t n) { trace("log %.*s", (int)n, line); sim.lines++; }
void rules_close(struct socket *s) { (void)s; }
void rules_step(void) {}
void rules_waited(bool timed_out, int64_t timeout_us) { (void)timed_out; (void)timeout_us; }
void rules_over(int status) { (void)status; }
void rules_fault(const char *excuse) { trace("fault %s", excuse); }
void rules_progress(void) {}
