/* What is asked about execs that run already, in one question. */
#include "guest/object.h"
#include "guest/conn.h"
#include "guest/refusal.h"
#include "lib/clock.h"

#define ANSWER_MS 10000

static const struct guest_patience patient = {-1, ANSWER_MS};

static int
list(struct conn *c, void (*each)(void *arg, const struct wire_info *info),
    void *arg, struct err *e)
{
	int64_t until = clock_mono_ms() + ANSWER_MS;
	struct inbound_event ev;

	for (int count = 0;; count++) {
		if (conn_next(c, &patient, until, &ev, e) != 0)
			return -1;
		if (ev.type == WIRE_FAIL)
			return refusal_of_guest(ev.why, ev.bytes, ev.size, e);
		if (ev.type == WIRE_DONE)
			return 0;
		if (count == GUEST_LIST_MAX)
			return err_set(e, ERR_GUEST,
			    "the run's init tells of too many execs");
		each(arg, &ev.info);
	}
}

int
guest_list(struct engine *en, const struct guest_place *place,
    void (*each)(void *arg, const struct wire_info *info), void *arg,
    struct err *e)
{
	struct conn c;

	if (conn_open(&c, en, place, INBOUND_LIST, e) != 0)
		return -1;
	wire_put(&c.out, WIRE_LIST, NULL, 0);
	int rc = list(&c, each, arg, e);
	conn_release(&c);
	return rc;
}

int
guest_act(struct engine *en, const struct guest_place *place,
    const struct wire_act *act, struct err *e)
{
	int64_t until = clock_mono_ms() + ANSWER_MS;
	struct inbound_event ev;
	struct conn c;

	if (conn_open(&c, en, place, INBOUND_DO, e) != 0)
		return -1;
	wire_put_act(&c.out, act);
	int rc = conn_next(&c, &patient, until, &ev, e);
	if (rc == 0 && ev.type == WIRE_FAIL)
		rc = refusal_of_object(ev.why, act->id, ev.bytes, ev.size, e);
	conn_release(&c);
	return rc;
}
