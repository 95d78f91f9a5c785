/* Images of a create (CONTRACT 2): what is not here is asked of its registry,
 * and the ways in which that fails are told apart. */
#include "harness.h"
#include "registry.h"

#include <string.h>

static int
setup(void **state)
{
	(void)state;
	stack_start(NULL);
	image_need(IMAGE_PLAIN);
	return 0;
}

static struct reply
create(const char *image)
{
	return http_json(
	    "POST", "/v1/runs", json_pack("{s:s}", "image", image));
}

static void
an_image_that_its_registry_does_not_have_is_404(void **state)
{
	struct registry registry = registry_start();
	char image[100];

	(void)state;
	(void)snprintf(
	    image, sizeof(image), "127.0.0.1:%d/team/nothing:1", registry.port);
	REPLY_AUTO r = create(image);
	check_problem(&r, 404, "image_not_found", image);

	/* As an event where the stream was open already. */
	char *body =
	    json_dumps(json_pack("{s:s}", "image", image), JSON_COMPACT);
	struct stream *s =
	    stream_open("/v1/runs", body, "Accept: text/event-stream", NULL);
	free(body);
	const struct event *ev = stream_await(s, "error", 30000);
	assert_non_null(ev);
	json_auto_t *said = json_loads(ev->data, 0, NULL);
	assert_string_equal(
	    json_string_value(json_at(said, "code")), "image_not_found");
	assert_int_equal(json_integer_value(json_at(said, "status")), 404);
	stream_close(s);
	registry_stop(&registry);
}

static void
a_registry_that_cannot_be_reached_is_502(void **state)
{
	(void)state;
	/* Nobody listens on port 1; the name is not one. */
	static const char *const images[] = {
	    "127.0.0.1:1/team/x:1", "registry.invalid/team/x:1"};
	for (size_t i = 0; i < 2; i++) {
		REPLY_AUTO r = create(images[i]);
		check_problem(&r, 502, "registry_failed", NULL);
	}
	assert_int_equal(docker_count(), 0);
}

static void
a_snapshot_is_never_pulled(void **state)
{
	(void)state;
	REPLY_AUTO r = create("teploy-sbx-snap:01aryz6s41tsv4rrffq69g5fav");
	check_problem(&r, 404, "image_not_found", "teploy-sbx-snap");
}

static void
an_image_can_be_named_by_its_digest(void **state)
{
	char id[ULID_SIZE];

	(void)state;
	REPLY_AUTO image =
	    docker_do("GET", "/images/" IMAGE_PLAIN "/json", NULL);
	assert_int_equal(image.status, 200);
	run_new(json_string_value(json_at(image.json, "Id")), id);
	EXECUTED_AUTO x = exec_sh(id, "echo hi");
	assert_string_equal(x.out.data, "hi\n");
	run_end(id);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(an_image_that_its_registry_does_not_have_is_404),
	    cmocka_unit_test(a_registry_that_cannot_be_reached_is_502),
	    cmocka_unit_test(a_snapshot_is_never_pulled),
	    cmocka_unit_test(an_image_can_be_named_by_its_digest),
	};

	return cmocka_run_group_tests(tests, setup, stack_stop);
}
