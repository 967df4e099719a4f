/*
 * conversation - a client of a made-up world, for tests that talk to it.
 *
 * Each test gets a new world and a client that has just connected. When the
 * test ends, every reference to a file must have been released.
 */
#ifndef CONVERSATION_H
#define CONVERSATION_H

#include "answer.h"
#include "unit.h"
#include "world.h"

extern struct world world;
extern struct client client; /* connected */

/* Registers a test that talks. */
#define TALK(test) cmocka_unit_test_setup_teardown(test, talk_begin, talk_end)
int talk_begin(void **state);
int talk_end(void **state);

/* Fails unless the client has received answers with exactly these statuses,
 * "200 404" for example. Only the last one may say Connection: close, and then
 * the connection must be over. */
#define assert_statuses(expected) assert_statuses_at((expected), __LINE__)
void assert_statuses_at(const char *expected, int line);

/* Returns the answer that the client has received, exactly one, to a GET. */
struct answer only_answer(void);

/* Fails unless the answer has a field of this value (NULL: no such field). */
void assert_field(const struct answer *answer, const char *name,
                  const char *expected);

/* Sends a request from a new client and returns the only answer, valid until
 * the next call. */
struct answer answer_to(const char *request);

/* Returns its body as a string, valid until the next call. */
const char *body_of(const struct answer *answer);

#define REQUEST(method, target) method " " target " HTTP/1.1\r\nHost: a\r\n\r\n"
#define GET(target) REQUEST("GET", target)

#endif
