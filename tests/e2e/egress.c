/* What tests of allowlist runs do again and again. */
#include "egress.h"
#include "harness.h"

#include <stdio.h>

void
egress_new(const char *entry, char ret_id[ULID_SIZE])
{
	json_t *body = json_pack(
	    "{s:s,s:s}", "image", IMAGE_PLAIN, "network", "allowlist");

	if (entry != NULL)
		json_object_set_new(
		    body, "egressAllow", json_pack("[s]", entry));
	run_from(body, ret_id);
}

int
egress_fetch(const char *id, const char *to)
{
	char cmd[256];
	int status = 0;

	(void)snprintf(cmd, sizeof(cmd),
	    "printf 'GET http://%s/hello HTTP/1.1\\r\\nHost: %s\\r\\n"
	    "Connection: close\\r\\n\\r\\n' | nc -w 10 127.0.0.1 3128",
	    to, to);
	EXECUTED_AUTO x = exec_sh(id, cmd);
	if (sscanf(x.out.data, "HTTP/1.1 %d ", &status) != 1)
		fail_msg("no answer: %s%s", x.out.data, x.err.data);
	return status;
}

struct reply
egress_put(const char *id, json_t *entries)
{
	return http_json("PUT", run_url(id, "egress"),
	    json_pack("{s:o}", "egressAllow", entries));
}

struct reply
egress_get(const char *id, const char *what)
{
	return http_do("GET", run_url(id, what), NULL, NULL);
}
