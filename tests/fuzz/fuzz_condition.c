/*
 * api/files_condition: what a PUT's headers say is refused with a reason, or is
 * a condition that names files by tags of ours, each of which stands in the
 * header, and that the run's init is told as it is. The input is a line for
 * each header: If-Match, If-None-Match, If-Unmodified-Since, Content-Range.
 */
#include "api/files_body.h"
#include "api/files_condition.h"
#include "check.h"
#include "lib/mem.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_tags(const char *header, const struct wire_file *change)
{
	char tag[FILES_ETAG_SIZE];

	check(change->same_count <= WIRE_SAME_MAX);
	for (size_t i = 0; i < change->same_count; i++) {
		const struct wire_stat st = {
		    .tag = change->same[i].tag, .size = change->same[i].size};

		files_etag(&st, tag);
		check(strstr(header, tag) != NULL);
	}
}

static void
check_frame(const struct wire_file *change)
{
	BUF_AUTO frame = BUF_INIT(WIRE_MAX);
	struct err e = ERR_INIT;
	struct wire_file got;

	wire_put_file(&frame, change);
	check(!frame.over && wire_get_file(frame.data + WIRE_HEAD,
				 frame.size - WIRE_HEAD, &got, &e) == 0);
	check(got.condition == change->condition &&
	      got.same_count == change->same_count);
	for (size_t i = 0; i < got.same_count; i++)
		check(got.same[i].tag == change->same[i].tag &&
		      got.same[i].size == change->same[i].size);
}

static void
ask(const struct exchange *x, enum wire_file_what what)
{
	struct wire_file change = {.what = what,
	    .generation = 1,
	    .user = "",
	    .root = "/work",
	    .path = "a",
	    .to = what == WIRE_FILE_MOVE ? "b" : ""};
	struct err e = ERR_INIT;

	if (files_condition(x, &change, &e) != 0) {
		check(e.kind == ERR_INPUT && *e.text != '\0');
		return;
	}
	check(what == WIRE_FILE_PUT || change.condition == WIRE_ALWAYS);
	check((change.condition == WIRE_ALWAYS) ==
	      (*x->if_match == '\0' && *x->if_none_match == '\0'));
	check_tags(x->if_match, &change);
	check_frame(&change);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *in = mem_strndup((const char *)data, size), *rest = in;
	const char *line[4] = {"", "", "", ""};

	for (size_t i = 0; i < 4 && rest != NULL; i++)
		line[i] = strsep(&rest, "\n");
	const struct exchange x = {.if_match = line[0],
	    .if_none_match = line[1],
	    .if_unmodified_since = line[2],
	    .content_range = line[3]};
	ask(&x, WIRE_FILE_PUT);
	ask(&x, WIRE_FILE_MOVE);
	free(in);
	return 0;
}
