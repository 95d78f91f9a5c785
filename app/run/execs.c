/* The execs of a run, as verbs. */
#include "run/execs.h"

int
execs_list(const struct run_ctx *ctx, struct run *run, struct arena *a,
    const struct wire_info **ret_list, size_t *ret_count, struct err *e)
{
	(void)ctx;
	(void)run;
	(void)a;
	(void)ret_list;
	(void)ret_count;
	return err_set(e, ERR_UNSUPPORTED, "exec objects");
}

int
execs_find(const struct run_ctx *ctx, struct run *run, struct arena *a,
    const char *id, struct wire_info *ret_info, struct err *e)
{
	(void)ctx;
	(void)run;
	(void)a;
	(void)id;
	(void)ret_info;
	return err_set(e, ERR_UNSUPPORTED, "exec objects");
}

int
execs_act(const struct run_ctx *ctx, struct run *run,
    const struct wire_act *act, struct err *e)
{
	(void)ctx;
	(void)run;
	(void)act;
	return err_set(e, ERR_UNSUPPORTED, "exec objects");
}

struct guest *
execs_follow(const struct run_ctx *ctx, struct run *run,
    const struct wire_attach *attach, struct err *e)
{
	(void)ctx;
	(void)run;
	(void)attach;
	(void)err_set(e, ERR_UNSUPPORTED, "exec objects");
	return NULL;
}

struct guest *
execs_input(const struct run_ctx *ctx, struct run *run,
    const struct wire_act *act, struct err *e)
{
	(void)ctx;
	(void)run;
	(void)act;
	(void)err_set(e, ERR_UNSUPPORTED, "exec objects");
	return NULL;
}
