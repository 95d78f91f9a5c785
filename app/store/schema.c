/* The version of what is kept in Redis. */
#include "store/schema.h"
#include "store/script.h"

static int
check(struct redis *r, struct err *e)
{
	struct script_call c;

	script_begin(&c, SCRIPT_schema);
	script_add_int(&c, SCHEMA_VERSION);
	return script_do(r, &c, e);
}

int
schema_check(const char *redis_url, struct err *e)
{
	struct err failed = ERR_INIT;
	struct redis *r = redis_new(redis_url, e);

	if (r == NULL)
		return -1;
	int rc = check(r, &failed);
	redis_free(r);
	if (rc == 0 || failed.kind == ERR_STORE_AWAY)
		return 0;
	*e = failed;
	return -1;
}
