/* Why a command did not start. */
#include "guest/refusal.h"
#include "lib/buf.h"
#include "lib/utf8.h"

#include <string.h>

#define TEXT_MAX 440		 /* with what goes before it, fits an err */
#define CLEAN_MAX (3 * TEXT_MAX) /* each byte may become U+FFFD */

/* Valid UTF-8 on one line, without control characters. */
static void
clean(struct buf *to, const char *text, size_t size)
{
	struct utf8 state = UTF8_INIT;

	utf8_feed(&state, text, size < TEXT_MAX ? size : TEXT_MAX, to);
	utf8_end(&state, to);
	for (size_t i = 0; i < to->size; i++)
		if ((unsigned char)to->data[i] < ' ' || to->data[i] == 0x7f)
			to->data[i] = ' ';
	if (to->size > TEXT_MAX) {
		to->size = TEXT_MAX;
		while (((unsigned char)to->data[to->size] & 0xc0) == 0x80)
			to->size--;
	}
	while (to->size > 0 && to->data[to->size - 1] == ' ')
		to->size--;
	if (to->room > 0)
		to->data[to->size] = '\0';
}

int
refusal_of_guest(
    enum wire_fail why, const char *text, size_t size, struct err *e)
{
	/* The member of the request that is to blame comes first. */
	static const struct {
		enum wire_fail why;
		enum err_kind kind;
		const char *member;
	} known[] = {
	    {WIRE_FAIL_CWD, ERR_INPUT, "cwd: "},
	    {WIRE_FAIL_USER, ERR_INPUT, "user: "},
	    {WIRE_FAIL_LIMIT, ERR_RUN_EXHAUSTED, ""},
	    {WIRE_FAIL_FENCED, ERR_LEASE_SUPERSEDED, "superseded: "},
	};
	BUF_AUTO said = BUF_INIT(CLEAN_MAX);

	clean(&said, text, size);
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].why == why)
			return err_set(e, known[i].kind, "%s%s",
			    known[i].member, said.data);
	return err_set(e, ERR_GUEST, "%s", said.data);
}

int
refusal_of_engine(const char *text, size_t size, struct err *e)
{
	/* Words of runc and of Docker 20.10 to 28, whose texts carry no code.
	 */
	static const struct {
		const char *words;
		enum err_kind kind;
		const char *text;
	} known[] = {
	    {"is not running", ERR_RUN_NOT_RUNNING, "the run has ended"},
	    {"stopped", ERR_RUN_NOT_RUNNING, "the run has ended"},
	    {"paused", ERR_RUN_NOT_RUNNING, "the run is paused"},
	    {"temporarily unavailable", ERR_RUN_EXHAUSTED,
		"the run is at its limit of processes (limits.pids)"},
	};
	BUF_AUTO said = BUF_INIT(CLEAN_MAX);

	clean(&said, text, size);
	if (said.size == 0)
		return err_set(e, ERR_GUEST,
		    "the run's init vanished before the command ran");
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strstr(said.data, known[i].words) != NULL)
			return err_set(e, known[i].kind, "%s", known[i].text);
	return err_set(e, ERR_ENGINE, "Docker cannot exec: %s", said.data);
}
