/* Execs that run already. */
#include "guest/object.h"

int
guest_list(struct engine *en, const struct guest_place *place,
    void (*each)(void *arg, const struct wire_info *info), void *arg,
    struct err *e)
{
	(void)en;
	(void)place;
	(void)each;
	(void)arg;
	return err_set(e, ERR_UNSUPPORTED, "exec objects");
}

int
guest_act(struct engine *en, const struct guest_place *place,
    const struct wire_act *act, struct err *e)
{
	(void)en;
	(void)place;
	(void)act;
	return err_set(e, ERR_UNSUPPORTED, "exec objects");
}

struct guest *
guest_follow(struct engine *en, const struct guest_place *place,
    const struct wire_attach *attach, struct err *e)
{
	(void)en;
	(void)place;
	(void)attach;
	(void)err_set(e, ERR_UNSUPPORTED, "exec objects");
	return NULL;
}

struct guest *
guest_input(struct engine *en, const struct guest_place *place,
    const struct wire_act *act, struct err *e)
{
	(void)en;
	(void)place;
	(void)act;
	(void)err_set(e, ERR_UNSUPPORTED, "exec objects");
	return NULL;
}

int
guest_feed(struct guest *g, const char *bytes, size_t size, int other_fd,
    int timeout_ms, struct err *e)
{
	(void)g;
	(void)bytes;
	(void)size;
	(void)other_fd;
	(void)timeout_ms;
	return err_set(e, ERR_UNSUPPORTED, "exec objects");
}

int
guest_feed_end(struct guest *g, int other_fd, int timeout_ms, struct err *e)
{
	(void)g;
	(void)other_fd;
	(void)timeout_ms;
	return err_set(e, ERR_UNSUPPORTED, "exec objects");
}
