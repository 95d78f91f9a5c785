/* A fake engine and a client of it. */
#include "docker_fixture.h"
#include "lib/mem.h"

#include <stdlib.h>

int
docker_setup(void **state)
{
	struct docker_fixture *d = mem_zalloc(sizeof(*d));

	d->fake = fake_new();
	d->engine = engine_new(fake_socket(d->fake));
	*state = d;
	return 0;
}

int
docker_teardown(void **state)
{
	struct docker_fixture *d = *state;

	engine_free(d->engine);
	fake_free(d->fake);
	free(d);
	return 0;
}
