/*
 * A fake engine and a client of it, for each test of docker/.
 */
#ifndef SBX_TESTS_MODULE_DOCKER_FIXTURE_H
#define SBX_TESTS_MODULE_DOCKER_FIXTURE_H

#include "../check.h"
#include "../fake/engine.h"
#include "docker/engine.h"

struct docker_fixture {
	struct fake *fake;
	struct engine *engine;
};

/* For cmocka_unit_test_setup_teardown; *state is the fixture. */
int docker_setup(void **state);
int docker_teardown(void **state);

/* A call with a deadline no test means to reach. */
#define docker_call(method_, path_) \
	((struct engine_call){      \
	    .method = (method_), .path = (path_), .timeout_ms = 30000})

#define docker_test(f) \
	cmocka_unit_test_setup_teardown(f, docker_setup, docker_teardown)

#endif
