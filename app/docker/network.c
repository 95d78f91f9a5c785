/* Networks, as calls of the engine. */
#include "docker/network.h"
#include "docker/container_json.h"
#include "lib/jw.h"
#include "lib/mem.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define CALL_MS 30000 /* some iptables commands, which wait for each other */
#define URL_MAX (8u * 1024)
#define SPEC_MAX (1u << 20)

/* -- create ---------------------------------------------------------------- */

static void
write_labels(struct jw *w, const struct network_spec *spec)
{
	jw_key(w, "Labels");
	jw_open(w, '{');
	for (size_t i = 0; i < spec->label_count; i++)
		jw_str(w, spec->labels[i].key, spec->labels[i].value);
	jw_close(w, '}');
}

static void
write_network(struct buf *body, const struct network_spec *spec)
{
	struct jw w = JW_INIT(body);

	jw_open(&w, '{');
	jw_str(&w, "Name", spec->name);
	/* Without it, engines before 25 make a second one of that name. */
	jw_bool(&w, "CheckDuplicate", true);
	jw_str(&w, "Driver", "bridge");
	jw_bool(&w, "Internal", true);
	jw_bool(&w, "EnableIPv6", false);
	jw_key(&w, "IPAM");
	jw_open(&w, '{');
	jw_key(&w, "Config");
	jw_open(&w, '[');
	jw_open(&w, '{');
	jw_str(&w, "Subnet", spec->subnet);
	jw_str(&w, "Gateway", spec->gateway);
	jw_close(&w, '}');
	jw_close(&w, ']');
	jw_close(&w, '}');
	jw_raw(&w, "Options",
	    "{\"com.docker.network.bridge.inhibit_ipv4\":\"true\","
	    "\"com.docker.network.bridge.enable_icc\":\"false\"}");
	write_labels(&w, spec);
	jw_close(&w, '}');
}

int
network_create(
    struct engine *en, const struct network_spec *spec, struct err *e)
{
	BUF_AUTO body = BUF_INIT(SPEC_MAX);
	ENGINE_REPLY_AUTO reply = ENGINE_REPLY_INIT;

	write_network(&body, spec);
	const struct engine_call call = {.method = "POST",
	    .path = "/networks/create",
	    .json = body.data,
	    .timeout_ms = CALL_MS};
	if (engine_do(en, &call, &reply, e) != 0)
		return err_wrap(e, "cannot create a network");
	if (reply.status == 201)
		return 0;
	(void)engine_refused(&reply, "cannot create a network", e);
	if (strstr(e->text, "overlap") != NULL)
		e->kind = ERR_CONFLICT;
	return -1;
}

/* -- remove ---------------------------------------------------------------- */

int
network_remove(struct engine *en, const char *name, struct err *e)
{
	BUF_AUTO path = BUF_INIT(URL_MAX);
	ENGINE_REPLY_AUTO reply = ENGINE_REPLY_INIT;

	buf_adds(&path, "/networks/");
	engine_escape(&path, name);
	const struct engine_call call = {
	    .method = "DELETE", .path = path.data, .timeout_ms = CALL_MS};
	if (engine_do(en, &call, &reply, e) != 0)
		return err_wrap(e, "cannot remove a network");
	if (reply.status == 204 || reply.status == 404)
		return 0;
	(void)engine_refused(&reply, "cannot remove a network", e);
	if (strstr(e->text, "active endpoints") != NULL)
		e->kind = ERR_CONFLICT;
	return -1;
}

/* -- list ------------------------------------------------------------------ */

void
network_list_release(struct network_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		free(list->item[i].name);
		free(list->item[i].labels);
	}
	free(list->item);
	*list = (struct network_list){NULL, 0};
}

static void
read_network(const json_t *object, struct network_list *to)
{
	const char *name = json_string_value(json_object_get(object, "Name"));
	struct network_info *info = &to->item[to->count];

	if (name == NULL)
		return;
	info->name = mem_strdup(name);
	container_json_labels(json_object_get(object, "Labels"), &info->labels,
	    &info->label_count);
	to->count++;
}

int
network_list(struct engine *en, const char *key, const char *value,
    struct network_list *ret_list, struct err *e)
{
	BUF_AUTO path = BUF_INIT(URL_MAX);
	ENGINE_REPLY_AUTO reply = ENGINE_REPLY_INIT;
	const json_t *one;
	size_t i;

	buf_adds(&path, "/networks?filters=");
	container_json_filter(&path, key, value);
	const struct engine_call call = {
	    .method = "GET", .path = path.data, .timeout_ms = CALL_MS};
	if (engine_do(en, &call, &reply, e) != 0)
		return err_wrap(e, "cannot list networks");
	if (reply.status != 200)
		return engine_refused(&reply, "cannot list networks", e);
	json_auto_t *all =
	    json_loadb(reply.body.data, reply.body.size, 0, NULL);
	struct network_list list = {
	    mem_zalloc(mem_array(json_array_size(all), sizeof(*list.item))), 0};
	json_array_foreach(all, i, one)
	{
		read_network(one, &list);
	}
	*ret_list = list;
	return 0;
}
