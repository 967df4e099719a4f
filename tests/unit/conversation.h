/*
 * conversation - a client of a made-up world, for tests that talk to it.
 *
 * Each test gets a new world and a client that has just connected; when it
 * ends, the world must have got back all that was lent.
 */
#ifndef CONVERSATION_H
#define CONVERSATION_H

#include "answer.h"
#include "unit.h"
#include "world.h"

extern struct world world;
extern struct client client; /* connected */

/* A test that talks. */
#define TALK(test) cmocka_unit_test_setup_teardown(test, talk_begin, talk_end)
int talk_begin(void **state);
int talk_end(void **state);

/* Fails unless what the client has received is, read strictly, a row of
 * answers with just these statuses: "200 404". Only the last may say that the
 * connection is closed, and then it is. */
#define assert_statuses(expected) assert_statuses_at((expected), __LINE__)
void assert_statuses_at(const char *expected, int line);

/* What the client has received, which must be one answer, to a GET. */
struct answer only_answer(void);

/* Fails unless the answer has a field of this value (NULL: no such field). */
void assert_field(const struct answer *answer, const char *name,
                  const char *expected);

/* A new client sends a request; returns its answer, the only one. Good until
 * the next call. */
struct answer answer_to(const char *request);

/* ... and this is its body, and so good as long. */
const char *body_of(const struct answer *answer);

#define REQUEST(method, target) method " " target " HTTP/1.1\r\nHost: a\r\n\r\n"
#define GET(target) REQUEST("GET", target)

#endif
