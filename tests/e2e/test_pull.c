/* Pulling from a real registry (Debian's docker-registry, on loopback) while
 * the client watches. */
#include "../port.h"
#include "harness.h"

#include <arpa/inet.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct {
	char dir[64];
	int port;
	pid_t pid;
} registry;

/* Run a program and wait; its exit status. */
static int
run_program(const char *const *argv)
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0) {
		(void)execvp(argv[0], (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	(void)waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool
registry_answers(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
	    .sin_port = htons((uint16_t)registry.port),
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool there = connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0;

	(void)close(fd);
	return there;
}

static void
start_registry(void)
{
	char path[96];

	(void)snprintf(
	    registry.dir, sizeof(registry.dir), "/tmp/sbx-registry-XXXXXX");
	assert_non_null(mkdtemp(registry.dir));
	registry.port = port_free();
	(void)snprintf(path, sizeof(path), "%s/config.yml", registry.dir);
	FILE *f = fopen(path, "we");
	assert_non_null(f);
	(void)fprintf(f,
	    "version: 0.1\nlog: {level: error, accesslog: {disabled: true}}\n"
	    "storage: {filesystem: {rootdirectory: %s/data}}\n"
	    "http: {addr: 127.0.0.1:%d}\n",
	    registry.dir, registry.port);
	(void)fclose(f);
	registry.pid = fork();
	if (registry.pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)execlp("docker-registry", "docker-registry", "serve",
		    path, (char *)NULL);
		_exit(127);
	}
	wait_until(registry_answers(), 60000);
}

static int
setup(void **state)
{
	(void)state;
	stack_start(NULL);
	image_need(IMAGE_PLAIN);
	start_registry();
	return 0;
}

static int
teardown(void **state)
{
	const char *const remove[] = {"rm", "-rf", registry.dir, NULL};

	if (registry.pid > 0) { /* it was started: 0 is all of us */
		(void)kill(registry.pid, SIGKILL);
		(void)waitpid(registry.pid, NULL, 0);
	}
	(void)run_program(remove);
	return stack_stop(state);
}

/* The plain image under a name of the registry, and not in the engine. */
static void
publish(const char *tag, char to[80])
{
	char name[64];

	(void)snprintf(
	    name, sizeof(name), "127.0.0.1:%d/team/box", registry.port);
	const char *const push[] = {
	    "tests/images/push.sh", stack.docker, IMAGE_PLAIN, name, tag, NULL};
	assert_int_equal(run_program(push), 0);
	(void)snprintf(to, 80, "%s:%s", name, tag);
}

static void
forget_image(const char *image)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "/images/%s", image);
	REPLY_AUTO r = docker_do("DELETE", path, NULL);
	assert_int_equal(r.status, 200);
}

static void
an_absent_image_is_pulled_and_the_run_works(void **state)
{
	char image[80], id[ULID_SIZE];

	(void)state;
	publish("plain", image);
	run_new(image, id);
	EXECUTED_AUTO x = exec_sh(id, "echo pulled");
	assert_string_equal(x.out.data, "pulled\n");
	run_end(id);
	forget_image(image);
}

/* pull comes before create, create before start, start before the run. */
static void
a_pull_can_be_watched(void **state)
{
	static const char *const phases[] = {"pull", "create", "start"};
	char image[80], body[128];
	size_t phase = 0;

	(void)state;
	publish("watched", image);
	(void)snprintf(body, sizeof(body), "{\"image\":\"%s\"}", image);
	struct stream *s =
	    stream_open("/v1/runs", body, "Accept: text/event-stream", NULL);
	assert_int_equal(stream_status(s), 200);
	const struct event *ev;
	while ((ev = stream_next(s, 60000)) != NULL &&
	       strcmp(ev->name, "run") != 0) {
		if (strcmp(ev->name, ":") == 0)
			continue;
		assert_string_equal(ev->name, "progress");
		json_auto_t *said = json_loads(ev->data, 0, NULL);
		const char *now = json_string_value(json_at(said, "phase"));
		while (phase < 3 && strcmp(phases[phase], now) != 0)
			phase++;
		assert_true(phase < 3);
	}
	assert_non_null(ev);
	assert_int_equal(phase, 2);
	json_auto_t *run = json_loads(ev->data, 0, NULL);
	assert_string_equal(json_string_value(json_at(run, "image")), image);
	run_end(json_string_value(json_at(run, "id")));
	stream_close(s);
	forget_image(image);
}

static void
another_tag_of_the_same_name_is_404(void **state)
{
	char body[128];

	(void)state;
	(void)snprintf(body, sizeof(body),
	    "{\"image\":\"127.0.0.1:%d/team/box:nope\"}", registry.port);
	REPLY_AUTO r = http_do("POST", "/v1/runs", body, NULL);
	check_problem(&r, 404, "image_not_found", "nope");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(an_absent_image_is_pulled_and_the_run_works),
	    cmocka_unit_test(a_pull_can_be_watched),
	    cmocka_unit_test(another_tag_of_the_same_name_is_404),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
