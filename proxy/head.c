/* Heads of HTTP/1 messages. */
#include "head_part.h"

#include <string.h>
#include <strings.h>

/* -- lines ----------------------------------------------------------------- */

struct text {
	const char *bytes;
	size_t size; /* HEAD_MAX at most */
	size_t used;
};

static int
refuse_byte(const char *at, struct head_fault *f)
{
	if (*at == '\r')
		return head_refuse(
		    f, 400, "There is a carriage return without a line feed.");
	if (*at == '\n')
		return head_refuse(
		    f, 400, "There is a line feed without a carriage return.");
	return head_refuse(f, 400, "There is a control character in the head.");
}

/* 1: a line, without its CRLF. What is wrong with its length or its bytes comes
 * first, and in their order, so that it does not depend on what follows. */
static int
next_line(
    struct text *t, size_t most, struct slice *ret_line, struct head_fault *f)
{
	const char *at = t->bytes + t->used;
	size_t room = t->size - t->used, size = 0;
	bool clipped = room >= most + 2;

	if (clipped)
		room = most + 2;
	while (size < room && head_is_text(at[size]))
		size++;
	if (size + 1 < room && at[size] == '\r' && at[size + 1] == '\n') {
		*ret_line = (struct slice){at, size};
		t->used += size + 2;
		return 1;
	}
	if (size < room && (at[size] != '\r' || size + 1 < room))
		return refuse_byte(at + size, f);
	if (clipped)
		return head_refuse(
		    f, 414, "The request line is longer than 8192 bytes.");
	if (t->size == HEAD_MAX)
		return head_refuse(
		    f, 431, "The head is longer than 32768 bytes.");
	return 0;
}

/* -- fields ---------------------------------------------------------------- */

static int
take_field(
    const struct slice *line, struct head_field *field, struct head_fault *f)
{
	const char *at = line->at, *end = at + line->size;

	if (*at == ' ' || *at == '\t')
		return head_refuse(
		    f, 400, "There is a line that begins with a blank.");
	while (at < end && head_is_token_byte(*at))
		at++;
	if (at == end || *at != ':')
		return head_refuse(f, 400,
		    at < end && (*at == ' ' || *at == '\t')
			? "There is a blank in the name of a field, or behind "
			  "it."
			: "There is a line that is no field.");
	if (at == line->at)
		return head_refuse(f, 400, "There is a field without a name.");
	field->name = (struct slice){line->at, (size_t)(at - line->at)};
	field->local = false;
	at++;
	while (at < end && (*at == ' ' || *at == '\t'))
		at++;
	while (end > at && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	field->value = (struct slice){at, (size_t)(end - at)};
	return 0;
}

/* Up to the empty line; as head_request returns. */
static int
take_lines(struct head *h, struct text *t, struct head_fault *f)
{
	struct slice line = {"", 0};
	int rc;

	while ((rc = next_line(t, HEAD_MAX, &line, f)) == 1 && line.size > 0) {
		if (h->count == HEAD_FIELDS)
			return head_refuse(
			    f, 431, "There are more than 128 fields.");
		if (take_field(&line, &h->field[h->count], f) != 0)
			return -1;
		h->count++;
	}
	return rc;
}

const struct slice *
head_find(const struct head *h, const char *name)
{
	for (size_t i = 0; i < h->count; i++)
		if (slice_is(&h->field[i].name, name))
			return &h->field[i].value;
	return NULL;
}

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* "HTTP/1.0" or "HTTP/1.1", or -1; *ret_other: of another version. */
static int
minor_of(const struct slice *version, bool *ret_other)
{
	const char *at = version->at;

	*ret_other = version->size == 8 && memcmp(at, "HTTP/", 5) == 0 &&
		     is_digit(at[5]) && at[6] == '.' && is_digit(at[7]);
	if (!*ret_other || at[5] != '1' || at[7] > '1')
		return -1;
	return at[7] - '0';
}

static void
init(struct head *h)
{
	/* Of the fields, which are most of it, count says how many there are.
	 */
	memset(h, 0, offsetof(struct head, field));
	h->forwards = -1;
	h->method.at = h->target.at = h->reason.at = h->path.at = "";
}

/* -- requests -------------------------------------------------------------- */

static int
take_request_line(
    struct head *h, const struct slice *line, struct head_fault *f)
{
	const char *end = line->at + line->size;
	const char *first = memchr(line->at, ' ', line->size);
	const char *second =
	    first != NULL ? memchr(first + 1, ' ', (size_t)(end - first - 1))
			  : NULL;
	bool other;

	if (second == NULL)
		return head_refuse(f, 400,
		    "The request line is not: method, target, version.");
	h->method = (struct slice){line->at, (size_t)(first - line->at)};
	h->target = (struct slice){first + 1, (size_t)(second - first - 1)};
	if (!head_is_token(&h->method))
		return head_refuse(f, 400, "The method is no token.");
	if (h->target.size == 0)
		return head_refuse(f, 400, "The request target is empty.");
	h->minor = minor_of(
	    &(struct slice){second + 1, (size_t)(end - second - 1)}, &other);
	if (h->minor >= 0)
		return 0;
	return other
		   ? head_refuse(f, 505, "This proxy speaks HTTP/1.1 and 1.0.")
		   : head_refuse(f, 400,
			 "The request line does not end in HTTP/1.1 or 1.0.");
}

/* What is in a method, apart from being passed on. */
static int
check_method(const struct head *h, struct head_fault *f)
{
	static const char *const known[] = {"CONNECT", "HEAD", "TRACE"};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (slice_is(&h->method, known[i]) &&
		    memcmp(h->method.at, known[i], h->method.size) != 0)
			return head_refuse(f, 501,
			    "That method is written in capital letters.");
	/* It would show a client what others added to its request. */
	if (slice_is(&h->method, "TRACE"))
		return head_refuse(f, 501, "TRACE is not forwarded.");
	/* RFC 9110 9.3.6 */
	if (h->connect && h->body != BODY_NONE)
		return head_refuse(f, 400, "CONNECT has no body.");
	return 0;
}

int
head_request(const char *bytes, size_t size, struct head *ret_h,
    size_t *ret_used, struct head_fault *ret_fault)
{
	struct text t = {bytes, size < HEAD_MAX ? size : HEAD_MAX, 0};
	struct slice line = {"", 0};
	int rc;

	init(ret_h);
	for (int empty = 0;; empty++) {
		rc = next_line(&t, HEAD_LINE_MAX, &line, ret_fault);
		if (rc != 1)
			return rc;
		if (line.size > 0)
			break;
		if (empty == 2)
			return head_refuse(ret_fault, 400,
			    "There are empty lines before the request.");
	}
	if (take_request_line(ret_h, &line, ret_fault) != 0)
		return -1;
	rc = take_lines(ret_h, &t, ret_fault);
	if (rc != 1)
		return rc;
	if (head_take_fields(ret_h, ret_fault) != 0 ||
	    head_take_target(ret_h, ret_fault) != 0 ||
	    check_method(ret_h, ret_fault) != 0)
		return -1;
	*ret_used = t.used;
	return 1;
}

/* -- answers --------------------------------------------------------------- */

static int
take_status_line(struct head *h, const struct slice *line, struct head_fault *f)
{
	const char *at = line->at;
	bool other;

	h->minor =
	    line->size < 8 ? -1 : minor_of(&(struct slice){at, 8}, &other);
	if (h->minor < 0)
		return head_refuse(
		    f, 502, "The answer is not of HTTP/1.1 or 1.0.");
	if (line->size < 12 || at[8] != ' ' || at[9] < '1' || at[9] > '5' ||
	    !is_digit(at[10]) || !is_digit(at[11]) ||
	    (line->size > 12 && at[12] != ' '))
		return head_refuse(
		    f, 502, "The answer has no status from 100 to 599.");
	h->status = (at[9] - '0') * 100 + (at[10] - '0') * 10 + at[11] - '0';
	if (line->size > 13)
		h->reason = (struct slice){at + 13, line->size - 13};
	return 0;
}

/* RFC 9112 6.3: of what follows, the status and the method decide first. */
static int
finish_answer(struct head *h, const struct slice *to, bool asked_upgrade,
    struct head_fault *f)
{
	bool bodiless = h->status < 200 || h->status == 204;

	if (h->status == 101 && (!asked_upgrade || !h->upgrade))
		return head_refuse(f, 502,
		    "The answer changes the protocol without being asked.");
	h->upgrade = h->status == 101;
	if (bodiless) {
		if (h->body != BODY_NONE)
			h->keep = false; /* who knows what follows */
		h->sized = false;
		h->length = 0;
	}
	if (bodiless || h->status == 304 ||
	    (to->size == 4 && memcmp(to->at, "HEAD", 4) == 0))
		h->body = BODY_NONE;
	else if (h->body == BODY_NONE && !h->sized)
		h->body = BODY_CLOSE;
	if (h->body == BODY_CLOSE)
		h->keep = false;
	return 0;
}

int
head_answer(const char *bytes, size_t size, const struct slice *to,
    bool asked_upgrade, struct head *ret_h, size_t *ret_used,
    struct head_fault *ret_fault)
{
	struct text t = {bytes, size < HEAD_MAX ? size : HEAD_MAX, 0};
	struct slice line = {"", 0};
	int rc;

	init(ret_h);
	rc = next_line(&t, HEAD_MAX, &line, ret_fault);
	if (rc == 1)
		rc = take_status_line(ret_h, &line, ret_fault) == 0
			 ? take_lines(ret_h, &t, ret_fault)
			 : -1;
	if (rc == 1 &&
	    (head_take_fields(ret_h, ret_fault) != 0 ||
		finish_answer(ret_h, to, asked_upgrade, ret_fault) != 0))
		rc = -1;
	if (rc == 1)
		*ret_used = t.used;
	if (rc < 0)
		ret_fault->status = 502;
	return rc;
}
