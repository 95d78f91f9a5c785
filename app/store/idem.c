/* Idempotency keys. */
#include "store/idem.h"
#include "lib/str.h"
#include "store/script.h"

static void
begin_call(struct script_call *c, enum script script, const struct idem *i)
{
	script_begin(c, script);
	script_add(c, i->key);
	script_add(c, i->digest);
	script_add(c, i->token);
}

int
idem_begin(struct redis *r, const struct idem *i, enum idem_state *ret_state,
    char ret_id[ULID_SIZE], struct err *e)
{
	static const struct {
		const char *word;
		enum idem_state state;
	} words[] = {
	    {"mine", IDEM_MINE}, {"wait", IDEM_WAIT}, {"other", IDEM_OTHER}};
	struct script_call c;
	int rc = -1;

	begin_call(&c, SCRIPT_idem_begin, i);
	script_add_int(&c, IDEM_MARK_MS);
	struct redisReply *reply = script_run(r, &c, e);
	if (reply == NULL)
		return -1;
	const char *text = reply_text(reply);
	for (size_t w = 0; text != NULL && w < 3; w++)
		if (str_eq(text, words[w].word)) {
			*ret_state = words[w].state;
			rc = 0;
		}
	if (rc != 0 && text != NULL && ulid_parse(text, ret_id)) {
		*ret_state = IDEM_RUN;
		rc = 0;
	}
	if (rc != 0)
		(void)err_set(e, ERR_STORE, "script idem_begin made no sense");
	redis_reply_free(reply);
	return rc;
}

int
idem_free(struct redis *r, const struct idem *i, struct err *e)
{
	struct script_call c;

	begin_call(&c, SCRIPT_idem_free, i);
	return script_do(r, &c, e);
}
