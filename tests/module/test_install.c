/* make install and uninstall; what they install, as systemd takes it. */
#include "../wait.h"
#include "fcgi_client.h"
#include "lib/buf.h"
#include "lib/fd.h"
#include "lib/str.h"

#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ENV "etc/teploy-sandbox/env"
#define UNITS "usr/local/lib/systemd/system"
#define LIB "usr/local/lib/teploy-sandbox"
#define LONG_MS 60000

static const char *const units[] = {"sbx.target", "sbx-redis.service",
    "sbx-reaper.service", "sbx-nginx.service", "sbx-proxy@.service",
    "sbx-app-control.socket", "sbx-app-control@.service",
    "sbx-app-stream.socket", "sbx-app-stream@.service"};

#define UNIT_COUNT (sizeof(units) / sizeof(units[0]))

static char root[64], log_path[96];

static int
set_up(void **state)
{
	(void)state;
	(void)snprintf(root, sizeof(root), "/tmp/test_install.XXXXXX");
	assert_non_null(mkdtemp(root));
	(void)snprintf(log_path, sizeof(log_path), "%s.log", root);
	return 0;
}

/* A path below the root of this test; good until the next call but one. */
static const char *
at(const char *path)
{
	static char text[2][256];
	static int turn;

	turn = !turn;
	(void)snprintf(text[turn], sizeof(text[turn]), "%s/%s", root, path);
	return text[turn];
}

static const char *
build(void)
{
	const char *path = getenv("SBX_TEST_BUILD");

	return path != NULL ? path : "build";
}

/* What it says goes to the log alone. */
static pid_t
start(const char *const *words)
{
	char *argv[16] = {NULL};
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid != 0)
		return pid;
	for (int i = 0; words[i] != NULL && i < 15; i++)
		argv[i] = strdup(words[i]);
	int log = open(log_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	(void)dup2(log, STDOUT_FILENO);
	(void)dup2(log, STDERR_FILENO);
	(void)execvp(argv[0], argv);
	_exit(127);
}

static int
end_of(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#define run(...) end_of(start((const char *const[]){__VA_ARGS__, NULL}))

static char *
text_of(const char *path)
{
	struct err e = ERR_INIT;
	char *text = fd_read_file(path, 1 << 20, NULL, &e);

	if (text == NULL)
		fail_msg("%s", e.text);
	return text;
}

static bool
has(const char *path, const char *words)
{
	char *text = text_of(path);
	bool found = strstr(text, words) != NULL;

	free(text);
	return found;
}

/* `make VERB` with these variables, in place of the one that ran this. */
static void
make(const char *verb, const char *variable, const char *other)
{
	char folder[512];

	(void)snprintf(folder, sizeof(folder), "BUILD=%s", build());
	if (run("make", "-s", folder, verb, variable, other) != 0)
		fail_msg("make %s: %s", verb, text_of(log_path));
}

static void
make_for(const char *verb, const char *prefix)
{
	char destination[96];

	(void)snprintf(destination, sizeof(destination), "DESTDIR=%s", root);
	make(verb, destination, prefix);
}

static void
make_in_root(const char *verb)
{
	make_for(verb, "PREFIX=/usr/local");
}

static int
tear_down(void **state)
{
	(void)state;
	assert_int_equal(run("rm", "-rf", root), 0);
	assert_int_equal(unlink(log_path), 0);
	return 0;
}

static int files;

static int
count_file(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)path;
	(void)st;
	(void)ftw;
	files += type != FTW_D;
	return 0;
}

static int
count_files(void)
{
	files = 0;
	assert_int_equal(nftw(root, count_file, 16, FTW_PHYS), 0);
	return files;
}

static int
mode_of(const char *path)
{
	struct stat st;

	if (stat(path, &st) != 0)
		fail_msg("%s is missing", path);
	return (int)(st.st_mode & 07777);
}

static void
install_puts_programs_units_and_configuration_in_place(void **state)
{
	static const char *const programs[] = {"sbx-app", "sbx-reaper",
	    "sbx-init", "sbx-proxy", "sbxctl", "teploy-sandbox"};
	char path[128], target[64] = "";

	(void)state;
	make_in_root("install");
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		(void)snprintf(path, sizeof(path), LIB "/%s", programs[i]);
		assert_int_equal(mode_of(at(path)), 0755);
	}
	for (size_t i = 0; i < UNIT_COUNT; i++) {
		(void)snprintf(path, sizeof(path), UNITS "/%s", units[i]);
		assert_int_equal(mode_of(at(path)), 0644);
		assert_false(has(at(path), "@POOL@") ||
			     has(at(path), "@LIB@") ||
			     has(at(path), "@include"));
	}
	assert_int_equal(mode_of(at("usr/local/bin/teploy-sandbox")), 0755);
	assert_int_equal(mode_of(at("usr/local/bin/sbxctl")), 0755);
	/* It may come to hold a password. */
	assert_int_equal(mode_of(at(ENV)), 0600);
	assert_true(has(at(ENV), "\n#SBX_ADDR=127.0.0.1:7439\n"));
	assert_false(has(at(ENV), "SBX_RUN_DIR"));
	assert_true(readlink(at(LIB "/env"), target, sizeof(target) - 1) > 0);
	assert_string_equal(target, "/" ENV);
}

static void
install_keeps_a_configuration_that_is_there(void **state)
{
	static const char mine[] = "SBX_SERVER=mine\n";
	struct err e = ERR_INIT;

	(void)state;
	make_in_root("install");
	check_ok(fd_write_file(at(ENV), 0600, mine, strlen(mine), &e), &e);
	make_in_root("install");
	char *text = text_of(at(ENV));
	assert_string_equal(text, mine);
	free(text);
	/* And tells what is new since it was written. */
	assert_true(has(log_path, "/" ENV " is kept."));
	assert_true(has(log_path, " SBX_ADDR SBX_ALLOW_PUBLIC SBX_TOKEN_FILE"));
	text = text_of(at(LIB "/env.example"));
	check_ok(fd_write_file(at(ENV), 0600, text, strlen(text), &e), &e);
	free(text);
	make_in_root("install");
	assert_false(has(log_path, "does not mention"));
}

/* groff(1) warns of what it cannot set; what programs say is in them. */
static void
man_pages_are_whole(void **state)
{
	static const struct {
		const char *page, *text;
	} pages[] = {
	    {"man1/sbxctl.1", "\\-\\-network KIND"},
	    {"man8/sbx-app.8", "SBX_STREAM_THREADS"},
	    {"man8/sbx-init.8", "PID 1"},
	    {"man8/sbx-proxy.8", "\\-\\-policy FILE"},
	    {"man8/sbx-reaper.8", "SBX_REAP_INTERVAL"},
	    {"man8/teploy-sandbox.8", "token rotate"},
	};
	char path[128];

	(void)state;
	make_in_root("install");
	for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++) {
		(void)snprintf(path, sizeof(path), "usr/local/share/man/%s",
		    pages[i].page);
		assert_int_equal(mode_of(at(path)), 0644);
		assert_true(has(at(path), pages[i].text));
		assert_false(
		    has(at(path), "@help") || has(at(path), "@VERSION@"));
		assert_int_equal(
		    run("groff", "-man", "-ww", "-z", at(path)), 0);
		assert_string_equal(text_of(log_path), "");
	}
}

static void
uninstall_leaves_the_configuration_alone(void **state)
{
	(void)state;
	make_in_root("install");
	assert_true(count_files() > (int)UNIT_COUNT);
	make_in_root("uninstall");
	assert_int_equal(count_files(), 1);
	assert_int_equal(access(at(ENV), F_OK), 0);
}

/* A package's: nothing in it knows of another place, nor of the one where it
 * was put together. */
static void
another_prefix_is_meant_everywhere(void **state)
{
	static const char *const places[] = {"lib/systemd/system/sbx.target",
	    "lib/systemd/system/sbx-app-stream@.service",
	    "lib/systemd/system/sbx-nginx.service",
	    "lib/systemd/system/sbx-proxy@.service",
	    "lib/systemd/system/sbx-reaper.service", "bin/teploy-sandbox",
	    "share/man/man8/sbx-app.8", "lib/teploy-sandbox/env.example"};
	char path[128];

	(void)state;
	make_for("install", "PREFIX=/usr");
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		(void)snprintf(path, sizeof(path), "usr/%s", places[i]);
		assert_false(has(at(path), "/usr/local"));
		assert_false(has(at(path), root));
	}
	assert_true(has(at("usr/lib/systemd/system/sbx-reaper.service"),
	    "ExecStart=/usr/lib/teploy-sandbox/sbx-reaper\n"));
	make_for("uninstall", "PREFIX=/usr");
	assert_int_equal(count_files(), 1); /* ENV */
}

/* Below a PREFIX where the programs really are: verify looks for them. */
static void
make_here(const char *verb)
{
	char prefix[96], etc[96];

	(void)snprintf(prefix, sizeof(prefix), "PREFIX=%s/usr/local", root);
	(void)snprintf(etc, sizeof(etc), "SYSCONFDIR=%s/etc", root);
	make(verb, prefix, etc);
}

static void
systemd_has_nothing_to_say_about_the_installed_units(void **state)
{
	char path[UNIT_COUNT][256];
	const char *words[UNIT_COUNT + 3] = {"systemd-analyze", "verify"};

	(void)state;
	make_here("install");
	for (size_t i = 0; i < UNIT_COUNT; i++) {
		(void)snprintf(path[i], sizeof(path[i]), "%s/" UNITS "/%s",
		    root, units[i]);
		words[i + 2] = path[i];
	}
	int status = end_of(start(words));
	char *said = text_of(log_path);
	assert_string_equal(said, "");
	assert_int_equal(status, 0);
	free(said);
}

static void
the_installed_command_has_the_configuration_of_the_units(void **state)
{
	static const char mine[] = "# comment\nSBX_ADDR=\"127.0.0.1:7001\"\n"
				   "SBX_SERVER='a box'\nSBX_WORKERS=3\n";
	static const char wrong[] = "SBX_RUN_DIR=/run/elsewhere\n";
	static const char log[] = "syslog:server=unix:/dev/log,tag=sbx";
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(setenv("SBX_WORKERS", "9", 1), 0);
	make_here("install");
	check_ok(fd_write_file(at(ENV), 0600, mine, strlen(mine), &e), &e);
	assert_int_equal(
	    run(at("usr/local/bin/teploy-sandbox"), "render", at("nginx"), log),
	    0);
	assert_int_equal(unsetenv("SBX_WORKERS"), 0);
	assert_true(has(at("nginx/nginx.conf"), "listen 127.0.0.1:7001 "));
	assert_true(has(at("nginx/nginx.conf"), "\"a box\""));
	assert_true(has(at("nginx/nginx.conf"), log));
	assert_true(has(at("nginx/nginx.conf"), "error_log syslog:"));
	/* 3 per thread of 9 workers, and 1024: the environment goes first. */
	assert_true(has(at("nginx/nginx.conf"), "worker_connections 18088;"));
	check_ok(fd_write_file(at(ENV), 0600, wrong, strlen(wrong), &e), &e);
	assert_int_equal(
	    run(at("usr/local/bin/teploy-sandbox"), "render", at("nginx")), 1);
	assert_true(has(log_path, "SBX_RUN_DIR cannot be set"));
}

/* systemd's own hand-over, by its tool for trying it. It becomes the worker
 * when the first client connects. */
static void
a_worker_takes_the_socket_of_a_socket_unit(void **state)
{
	char program[512], variable[3][128], socket[96];

	(void)state;
	(void)snprintf(program, sizeof(program), "%s/sbx-app", build());
	(void)snprintf(socket, sizeof(socket), "%s/control.sock", root);
	(void)snprintf(variable[0], 128, "--setenv=SBX_RUN_DIR=%s", root);
	(void)snprintf(variable[1], 128, "--setenv=SBX_STATE_DIR=%s", root);
	(void)snprintf(variable[2], 128, "--setenv=SBX_CONTROL_THREADS=4");
	pid_t pid = start((const char *const[]){"systemd-socket-activate",
	    "--fdname=control", "--listen", socket, variable[0], variable[1],
	    variable[2], program, "--pool", "control", NULL});
	wait_until(access(socket, F_OK) == 0 && has(log_path, "Listening on"),
	    LONG_MS);
	struct fcgi_reply r = fcgi_get(socket, "GET", "/health", NULL);
	assert_int_equal(fcgi_status(&r), 200);
	fcgi_reply_release(&r);
	assert_int_equal(kill(pid, SIGTERM), 0);
	assert_int_equal(end_of(pid), 0);
	/* It is not the worker's to remove. */
	assert_int_equal(access(socket, F_OK), 0);
}

#define INSTALL_TEST(name) \
	cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    INSTALL_TEST(
		install_puts_programs_units_and_configuration_in_place),
	    INSTALL_TEST(install_keeps_a_configuration_that_is_there),
	    INSTALL_TEST(man_pages_are_whole),
	    INSTALL_TEST(uninstall_leaves_the_configuration_alone),
	    INSTALL_TEST(another_prefix_is_meant_everywhere),
	    INSTALL_TEST(systemd_has_nothing_to_say_about_the_installed_units),
	    INSTALL_TEST(
		the_installed_command_has_the_configuration_of_the_units),
	    INSTALL_TEST(a_worker_takes_the_socket_of_a_socket_unit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
