/* Real clients in a run with network "allowlist": what they fetch through its
 * proxy, how they are told of a refusal, and that there is no way around. */
#include "files.h"
#include "harness.h"
#include "origin.h"

#include "lib/buf.h"
#include "lib/fd.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <stdlib.h>
#include <string.h>

static char run[ULID_SIZE];

/* -- the run --------------------------------------------------------------- */

/* name:port of every server that clients here may speak to. */
static json_t *
entries(void)
{
	static const char *const names[] = {"www.test", "git.test",
	    "index.test", "mirror.test", "socket.test", "missing.test"};
	json_t *list = json_array();
	char entry[64];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		(void)snprintf(
		    entry, sizeof(entry), "%s:%d", names[i], origin.http);
		json_array_append_new(list, json_string(entry));
		(void)snprintf(
		    entry, sizeof(entry), "%s:%d", names[i], origin.https);
		json_array_append_new(list, json_string(entry));
	}
	(void)snprintf(entry, sizeof(entry), "www.test:%d", origin.refused);
	json_array_append_new(list, json_string(entry));
	return list;
}

/* $H, $T, $W, $N are ports: of HTTP, TLS, at all addresses, of nobody. */
static json_t *
environment(void)
{
	static const char *const ca[] = {"CURL_CA_BUNDLE", "GIT_SSL_CAINFO",
	    "PIP_CERT", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"};
	char h[8], t[8], w[8], n[8];

	(void)snprintf(h, sizeof(h), "%d", origin.http);
	(void)snprintf(t, sizeof(t), "%d", origin.https);
	(void)snprintf(w, sizeof(w), "%d", origin.wild);
	(void)snprintf(n, sizeof(n), "%d", origin.refused);
	json_t *env =
	    json_pack("{s:s,s:s,s:s,s:s}", "H", h, "T", t, "W", w, "N", n);
	for (size_t i = 0; i < sizeof(ca) / sizeof(ca[0]); i++)
		json_object_set_new(env, ca[i], json_string("/work/ca.pem"));
	return env;
}

/* Put a file of this box into the run. */
static void
put(const char *path, const char *name)
{
	struct err e = ERR_INIT;
	char *text = fd_read_file(path, 1 << 20, NULL, &e);

	if (text == NULL)
		fail_msg("%s", e.text);
	file_put(run, name, text);
	free(text);
}

static int
setup(void **state)
{
	char path[64];

	(void)state;
	origin_start();
	const char *const env[] = {origin.resolv, origin.private, NULL};
	stack_start(env);
	image_need(IMAGE_DEBIAN);
	run_from(
	    json_pack("{s:s,s:s,s:o,s:o}", "image", IMAGE_DEBIAN, "network",
		"allowlist", "egressAllow", entries(), "env", environment()),
	    run);
	(void)snprintf(path, sizeof(path), "%s/ca.pem", origin.dir);
	put(path, "ca.pem");
	put("tests/e2e/clients/keepalive.py", "keepalive.py");
	put("tests/e2e/clients/websocket.py", "websocket.py");
	put("tests/e2e/clients/fetch.js", "fetch.js");
	put("tests/e2e/clients/reach.py", "reach.py");
	return 0;
}

static int
teardown(void **state)
{
	run_end(run);
	origin_stop();
	return stack_stop(state);
}

/* The script succeeds in the run, and puts out exactly that. */
static void
check(const char *script, const char *out)
{
	EXECUTED_AUTO x = exec_sh(run, script);

	if (x.status != 200 || exit_code(&x) != 0 || !str_eq(x.out.data, out))
		fail_msg("%s\nstatus %ld, exit %d\n%s%s", script, x.status,
		    x.status == 200 ? exit_code(&x) : -1, x.out.data,
		    x.err.data);
}

/* -- clients --------------------------------------------------------------- */

static void
curl_fetches_and_sends(void **state)
{
	(void)state;
	check("curl -fsS http://www.test:$H/hello https://www.test:$T/hello",
	    "hello\nhello\n");
	/* A tunnel for http as well, as some clients ask for. */
	check("curl -fsSp http://www.test:$H/hello", "hello\n");
	check("curl -fsSI http://www.test:$H/large | tr -d '\\r' |"
	      " grep -i '^content-length'",
	    "Content-Length: 8388608\n");
	check("curl -fsS -o a http://www.test:$H/large"
	      " -o b https://www.test:$T/large && cmp a b",
	    "");
	/* With a length, after 100-continue, and in chunks. */
	check("for to in http://www.test:$H https://www.test:$T; do"
	      " curl -fsS --data-binary @a $to/sum &&"
	      " curl -fsS -H 'Expect: 100-continue' -T a $to/sum &&"
	      " curl -fsS -T - $to/sum <a || exit; done | uniq >got;"
	      " sha256sum a | cut -d' ' -f1 | diff - got",
	    "");
	check("rm a b got", "");
}

static void
wget_fetches(void **state)
{
	(void)state;
	check("wget -qO- http://www.test:$H/hello &&"
	      " wget -qO- --ca-certificate=ca.pem https://www.test:$T/hello",
	    "hello\nhello\n");
}

static void
git_clones_and_pushes(void **state)
{
	(void)state;
	/* Over a MiB is sent in chunks. */
	check("export GIT_AUTHOR_NAME=b GIT_AUTHOR_EMAIL=b@git.test"
	      " GIT_COMMITTER_NAME=b GIT_COMMITTER_EMAIL=b@git.test\n"
	      "for from in https://git.test:$T http://git.test:$H; do\n"
	      "git clone -q $from/project.git project && cd project &&\n"
	      "cat README && head -c 3000000 /dev/urandom >large &&\n"
	      "git add large && git commit -qm large && git push -q &&\n"
	      "git fetch -q && git diff --quiet origin/main &&\n"
	      "cd .. && rm -r project || exit\ndone",
	    "cloned\ncloned\n");
}

static void
pip_installs(void **state)
{
	(void)state;
	check("pip install -q --disable-pip-version-check --no-cache-dir"
	      " --root-user-action=ignore --target=pip"
	      " --index-url=https://index.test:$T/simple sbx-hello 2>&1 &&"
	      " PYTHONPATH=pip python3 -m sbx_hello",
	    "installed by pip\n");
}

static void
apt_updates_and_installs(void **state)
{
	(void)state;
	check("rm -f /etc/apt/sources.list /etc/apt/sources.list.d/*\n"
	      "for from in http://mirror.test:$H https://mirror.test:$T; do\n"
	      "echo \"deb [trusted=yes] $from/debian ./\""
	      " >/etc/apt/sources.list\n"
	      "rm -rf /var/lib/apt/lists/*\n"
	      "set -- -o Acquire::https::CaInfo=/work/ca.pem -qq\n"
	      "apt-get \"$@\" update >apt.log 2>&1 &&\n"
	      "apt-get \"$@\" install -y sbx-hello >>apt.log 2>&1 &&\n"
	      "sbx-hello && dpkg -P sbx-hello >>apt.log || break\ndone\n"
	      "! grep -E '^[EW]:' apt.log",
	    "installed by apt\ninstalled by apt\n");
}

static void
python_keeps_connections_alive(void **state)
{
	(void)state;
	check("python3 keepalive.py http://www.test:$H https://www.test:$T"
	      " http://denied.test:$H/",
	    "kept alive\n");
	check("python3 -c 'import os, urllib.request as u\n"
	      "print(u.urlopen(\"http://www.test:%s/hello\" %"
	      " os.environ[\"H\"]).read())'",
	    "b'hello\\n'\n");
}

static void
node_fetches(void **state)
{
	(void)state;
	check("node fetch.js http://www.test:$H https://www.test:$T"
	      " https://denied.test:$T/",
	    "fetched\n");
}

static void
websockets_echo(void **state)
{
	(void)state;
	check("python3 websocket.py socket.test $H &&"
	      " python3 websocket.py socket.test $T ca.pem",
	    "echoed\nechoed\n");
}

/* -- refusals -------------------------------------------------------------- */

static void
four_answers_are_four(void **state)
{
	(void)state;
	check("for url in www.test:$H/hello denied.test:$H/ missing.test:$H/"
	      " www.test:$N/; do curl -so /dev/null -w '%{http_code}\\n'"
	      " http://$url; done",
	    "200\n403\n502\n502\n");
	check("for url in www.test:$T/hello denied.test:$T/ missing.test:$T/"
	      " www.test:$N/; do curl -so /dev/null -w '%{http_connect}\\n'"
	      " https://$url; done; true",
	    "200\n403\n502\n502\n");
	/* Unresolvable and refused differ in what they say. */
	check("curl -s http://missing.test:$H/ >a; curl -s http://www.test:$N/"
	      " >b; ! cmp -s a b",
	    "");
	assert_true(origin_asked("www.test"));
	assert_true(origin_asked("missing.test"));
	assert_false(origin_asked("denied.test"));
}

static void
a_refusal_says_what_would_help(void **state)
{
	(void)state;
	check("curl -s http://denied.test:$H/ >said; for what in denied.test"
	      " \"\\\"egressAllow\\\": \\[\\\"denied.test:$H\\\"\\]\""
	      " \"SBX_EGRESS_ALLOW=denied.test:$H\" 'network:\"open\"'; do"
	      " grep -q \"$what\" said || echo \"no $what\"; done",
	    "");
	/* A port of its own is another matter than the usual ones. */
	check("curl -s http://denied.test/ | grep -o 'SBX_.*'",
	    "SBX_EGRESS_ALLOW=denied.test\n");
	/* What Git shows of it. */
	check("git clone -q https://denied.test:$T/x.git 2>&1 |"
	      " grep -o 'response 403'",
	    "response 403\n");
}

static void
a_redirect_is_judged_like_any_other(void **state)
{
	(void)state;
	check("curl -sLo /dev/null -w '%{http_code}\\n'"
	      " -H \"X-To: http://git.test:$H/hello\" http://www.test:$H/away",
	    "200\n");
	check("curl -sLo /dev/null -w '%{http_code}\\n'"
	      " -H \"X-To: http://denied.test:$H/\" http://www.test:$H/away",
	    "403\n");
}

/* -- no way around --------------------------------------------------------- */

/* ADDRESS:PORT of this box, for each address and a server at all of them. */
static void
add_addresses(struct buf *to, const char *before)
{
	struct ifaddrs *all, *a;
	char text[INET_ADDRSTRLEN];

	assert_int_equal(getifaddrs(&all), 0);
	for (a = all; a != NULL; a = a->ifa_next) {
		struct sockaddr_in in;

		if (a->ifa_addr == NULL || a->ifa_addr->sa_family != AF_INET)
			continue;
		memcpy(&in, a->ifa_addr, sizeof(in));
		(void)inet_ntop(AF_INET, &in.sin_addr, text, sizeof(text));
		buf_addf(to, " %s%s:%d", before, text, origin.wild);
	}
	freeifaddrs(all);
}

static void
nothing_is_reached_without_the_proxy(void **state)
{
	BUF_AUTO script = BUF_INIT(64 << 10);

	(void)state;
	buf_adds(&script, "python3 reach.py");
	add_addresses(&script, "");
	buf_addf(&script, " 127.0.0.1:%d 127.0.0.1:%d 127.0.0.1:2375 ::1:%d",
	    origin.http, stack.port, origin.http);
	check(script.data, "");
}

/* By address, whatever listens there: it is not on the list. */
static void
services_of_the_box_are_refused_by_the_proxy(void **state)
{
	BUF_AUTO script = BUF_INIT(64 << 10);

	(void)state;
	buf_adds(&script, "for url in");
	add_addresses(&script, "");
	buf_addf(&script,
	    " 127.0.0.1:%d 127.0.0.1:%d localhost:%d 0.0.0.0:%d [::1]:%d"
	    " 169.254.169.254:80; do for p in http https; do"
	    " curl -gso /dev/null --noproxy '' -w "
	    "'%%{http_code}%%{http_connect}"
	    "\\n' $p://$url/; done; done | sort -u",
	    origin.http, stack.port, origin.http, origin.http, origin.http);
	check(script.data, "000403\n403000\n");
}

static void
runs_do_not_reach_each_other(void **state)
{
	char other[ULID_SIZE], entry[64];

	(void)state;
	(void)snprintf(entry, sizeof(entry), "denied.test:%d", origin.http);
	run_from(
	    json_pack("{s:s,s:s,s:[s],s:o}", "image", IMAGE_DEBIAN, "network",
		"allowlist", "egressAllow", entry, "env", environment()),
	    other);
	/* A server at all addresses of the other run. */
	EXECUTED_AUTO x = exec_json(
	    other, json_pack("{s:s,s:b}", "cmd",
		       "exec python3 -m http.server 9999 --bind 0.0.0.0",
		       "detach", 1));
	assert_int_equal(x.status, 202);
	EXECUTED_AUTO up = exec_sh(other,
	    "for i in $(seq 200); do curl -fso /dev/null"
	    " http://127.0.0.1:9999/ && exit; sleep 0.05; done; exit 1");
	assert_int_equal(exit_code(&up), 0);
	check("curl -s http://127.0.0.1:9999/; echo $?", "7\n");
	check("curl -so /dev/null --noproxy '' -w '%{http_code}\\n'"
	      " http://127.0.0.1:9999/",
	    "403\n");
	/* Each has its own proxy at the same place, and its own list. */
	check("curl -so /dev/null -w '%{http_code}\\n' http://denied.test:$H/",
	    "403\n");
	EXECUTED_AUTO own = exec_sh(other,
	    "for name in denied www; do curl -so /dev/null"
	    " -w '%{http_code} ' http://$name.test:$H/hello; done");
	assert_string_equal(own.out.data, "200 403 ");
	run_end(other);
}

/* -- what is told of it ---------------------------------------------------- */

static void
what_clients_did_is_counted(void **state)
{
	(void)state;
	REPLY_AUTO r = http_do("GET", run_url(run, "egress"), NULL, NULL);
	assert_int_equal(r.status, 200);
	const json_t *hosts = json_at(r.json, "counters.hosts");
	json_int_t allowed = 0, down = 0, denied = 0, failed = 0,
		   down_denied = 0;
	const json_t *host;
	size_t i;

	json_array_foreach(hosts, i, host)
	{
		const char *name = json_string_value(json_at(host, "host"));

		failed += json_integer_value(json_at(host, "failed"));
		if (str_eq(name, "denied.test")) {
			denied += json_integer_value(json_at(host, "denied"));
			down_denied +=
			    json_integer_value(json_at(host, "down"));
		}
		if (!str_eq(name, "www.test"))
			continue;
		allowed += json_integer_value(json_at(host, "allowed"));
		down += json_integer_value(json_at(host, "down"));
	}
	if (allowed < 50 || down < 3 * (8 << 20) || denied < 3 ||
	    down_denied != 0 || failed < 4)
		fail_msg("%s", strstr(r.body.data, "\"counters\""));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(curl_fetches_and_sends),
	    cmocka_unit_test(wget_fetches),
	    cmocka_unit_test(git_clones_and_pushes),
	    cmocka_unit_test(pip_installs),
	    cmocka_unit_test(apt_updates_and_installs),
	    cmocka_unit_test(python_keeps_connections_alive),
	    cmocka_unit_test(node_fetches),
	    cmocka_unit_test(websockets_echo),
	    cmocka_unit_test(four_answers_are_four),
	    cmocka_unit_test(a_refusal_says_what_would_help),
	    cmocka_unit_test(a_redirect_is_judged_like_any_other),
	    cmocka_unit_test(nothing_is_reached_without_the_proxy),
	    cmocka_unit_test(services_of_the_box_are_refused_by_the_proxy),
	    cmocka_unit_test(runs_do_not_reach_each_other),
	    cmocka_unit_test(what_clients_did_is_counted),
	};

	return run_on_host_kernel("egress clients", tests, setup, teardown,
	    "their network stack is their own");
}
