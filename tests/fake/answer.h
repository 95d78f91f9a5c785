/* Sending what a rule of the scripted engine says. */
#ifndef SBX_TESTS_FAKE_ANSWER_H
#define SBX_TESTS_FAKE_ANSWER_H

#include "engine.h"

/* True where the next request may come on this connection. */
bool fake_answer(int fd, const struct fake_rule *rule);

#endif
