/* Networks: names and labels. */
#include "lib/jw.h"
#include "lib/str.h"
#include "lib/ulid.h"
#include "model_call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
state_forget_network(struct network *n)
{
	json_decref(n->labels);
	memset(n, 0, sizeof(*n));
}

void
state_age_networks(struct model_state *s)
{
	for (size_t i = 0; i < MODEL_CONTAINERS; i++) {
		const char *run = json_string_value(json_object_get(
		    s->network[i].labels, "teploy.sandbox.run"));
		char id[ULID_SIZE];

		if (run == NULL)
			continue;
		(void)snprintf(id, sizeof(id), "0000000000%s", run + 10);
		json_object_set_new(s->network[i].labels, "teploy.sandbox.run",
		    json_string(id));
	}
}

struct network *
state_network(struct model_state *s, const char *name)
{
	for (size_t i = 0; i < MODEL_CONTAINERS; i++)
		if (str_eq(s->network[i].name, name))
			return &s->network[i];
	return NULL;
}

int
call_network_create(struct model_state *s, const struct fake_request *r,
    const struct subject *about, struct buf *text)
{
	json_auto_t *body = json_loads(r->body, 0, NULL);
	const char *name = json_string_value(json_object_get(body, "Name"));
	const char *subnet = json_string_value(json_object_get(
	    json_array_get(
		json_object_get(json_object_get(body, "IPAM"), "Config"), 0),
	    "Subnet"));

	(void)about;
	if (state_network(s, name) != NULL)
		return refuse(text, 409, "network with that name exists");
	for (size_t i = 0; i < MODEL_CONTAINERS; i++)
		if (str_eq(s->network[i].subnet, subnet))
			return refuse(text, 403,
			    "Pool overlaps with other one on this address "
			    "space");
	struct network *n = state_network(s, "");
	if (n == NULL)
		abort(); /* a test that makes so many is wrong */
	(void)snprintf(n->name, sizeof(n->name), "%s", name);
	(void)snprintf(n->subnet, sizeof(n->subnet), "%s", subnet);
	n->labels = json_incref(json_object_get(body, "Labels"));
	buf_adds(text, "{\"Id\":\"0\",\"Warning\":\"\"}");
	return 201;
}

int
call_network_list(struct model_state *s, const struct fake_request *r,
    const struct subject *about, struct buf *text)
{
	json_auto_t *all = json_array();

	(void)r, (void)about;
	for (size_t i = 0; i < MODEL_CONTAINERS; i++)
		if (s->network[i].name[0] != '\0')
			json_array_append_new(all,
			    json_pack("{s:s,s:O}", "Name", s->network[i].name,
				"Labels", s->network[i].labels));
	char *list = json_dumps(all, JSON_COMPACT);
	buf_adds(text, list);
	free(list);
	return 200;
}

int
call_network_remove(struct model_state *s, const struct fake_request *r,
    const struct subject *about, struct buf *text)
{
	struct network *n = state_network(s, about->name);

	(void)r;
	if (n == NULL)
		return refuse(text, 404, "network not found");
	for (size_t i = 0; i < MODEL_CONTAINERS; i++)
		if (s->container[i].name[0] != '\0' &&
		    str_eq(s->container[i].network, n->name) &&
		    state_runs(&s->container[i]))
			return refuse(text, 403, "it has active endpoints");
	state_forget_network(n);
	return 204;
}
