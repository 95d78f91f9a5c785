/* Starting and stopping a private redis-server. */
#include "redis_fixture.h"
#include "../wait.h"
#include "lib/buf.h"
#include "lib/mem.h"

#include <fcntl.h>
#include <ftw.h>
#include <hiredis/hiredis.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORDS_MAX 64

static void
exec_server(const struct redis_fixture *f)
{
	char socket[96], port[8];
	const char *argv[32] = {"redis-server", "--unixsocket", socket, "--dir",
	    f->dir, "--port", port, "--bind", "127.0.0.1", "--appendonly",
	    "yes", "--save", "", "--appendfsync", "no"};
	size_t argc = 15;
	char *unconst[32];

	(void)snprintf(socket, sizeof(socket), "%s/redis.sock", f->dir);
	(void)snprintf(port, sizeof(port), "%d", f->tcp_port);
	if (f->password != NULL) {
		argv[argc++] = "--requirepass";
		argv[argc++] = f->password;
	}
	memcpy(unconst, argv, sizeof(argv));
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (chdir(f->dir) != 0)
		_exit(127);
	int log = open("log", O_WRONLY | O_CREAT | O_APPEND, 0600);
	(void)dup2(log, STDOUT_FILENO);
	(void)dup2(log, STDERR_FILENO);
	(void)execvp(unconst[0], unconst);
	_exit(127);
}

/* It answers, and has loaded its data. */
static bool
answers(const struct redis_fixture *f)
{
	char path[96];

	(void)snprintf(path, sizeof(path), "%s/redis.sock", f->dir);
	redisContext *c = redisConnectUnix(path);
	redisReply *reply = NULL;
	if (c != NULL && c->err == 0 && f->password != NULL)
		freeReplyObject(redisCommand(c, "AUTH %s", f->password));
	if (c != NULL && c->err == 0)
		reply = redisCommand(c, "PING");
	bool pong = reply != NULL && reply->type == REDIS_REPLY_STATUS;
	if (reply != NULL)
		freeReplyObject(reply);
	if (c != NULL)
		redisFree(c);
	return pong;
}

void
redis_fixture_start(struct redis_fixture *f)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		exec_server(f);
	f->pid = pid;
	wait_until(answers(f), 60000);
}

void
redis_fixture_open(struct redis_fixture *f)
{
	(void)snprintf(f->dir, sizeof(f->dir), "/tmp/sbx-redis-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	(void)snprintf(f->url, sizeof(f->url), "unix://%s/redis.sock", f->dir);
	redis_fixture_start(f);
}

void
redis_fixture_kill(struct redis_fixture *f)
{
	int status;

	if (f->pid == 0)
		return;
	(void)kill(f->pid, SIGKILL);
	(void)waitpid(f->pid, &status, 0);
	f->pid = 0;
}

static int
remove_entry(
    const char *path, const struct stat *st, int type, struct FTW *where)
{
	(void)st, (void)type, (void)where;
	return remove(path);
}

void
redis_fixture_close(struct redis_fixture *f)
{
	redis_fixture_kill(f);
	(void)nftw(f->dir, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

void
redis_fixture_pause(const struct redis_fixture *f)
{
	int status;

	assert_int_equal(kill(f->pid, SIGSTOP), 0);
	assert_int_equal(waitpid(f->pid, &status, WUNTRACED), f->pid);
}

void
redis_fixture_resume(const struct redis_fixture *f)
{
	assert_int_equal(kill(f->pid, SIGCONT), 0);
}

static void
put_reply(struct buf *to, const redisReply *reply)
{
	switch (reply->type) {
	case REDIS_REPLY_INTEGER:
		buf_addf(to, "%lld", reply->integer);
		break;
	case REDIS_REPLY_NIL:
		buf_adds(to, "(nil)");
		break;
	case REDIS_REPLY_ARRAY:
		for (size_t i = 0; i < reply->elements; i++) {
			buf_adds(to, i > 0 ? " " : "");
			put_reply(to, reply->element[i]);
		}
		break;
	default:
		buf_add(to, reply->str, reply->len);
	}
}

const char *
redis_fixture_say(const struct redis_fixture *f, const char *command)
{
	static struct buf text = BUF_INIT(1 << 20);
	char path[96], *copy = mem_strdup(command), *rest = copy;
	const char *argv[WORDS_MAX];
	int argc = 0;

	while (argc < WORDS_MAX && (argv[argc] = strsep(&rest, " ")) != NULL)
		argc++;
	(void)snprintf(path, sizeof(path), "%s/redis.sock", f->dir);
	redisContext *c = redisConnectUnix(path);
	assert_true(c != NULL && c->err == 0);
	redisReply *reply = redisCommandArgv(c, argc, argv, NULL);
	assert_non_null(reply);
	buf_reset(&text);
	put_reply(&text, reply);
	freeReplyObject(reply);
	redisFree(c);
	free(copy);
	return text.data;
}
