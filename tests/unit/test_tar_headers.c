/* lib/tar: headers that are made by hand, good and bad. */
#include "../check.h"
#include "../tar_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- made by hand ---------------------------------------------------------- */

/* A header of that type for "x", with its content; its checksum is right. */
static void
add_block(struct buf *to, char type, const char *content, size_t size)
{
	const struct tar_entry x = {
	    .type = TAR_FILE, .name = "x", .link = "", .size = size};
	size_t at = to->size;

	tar_put(to, &x);
	to->data[at + 156] = type;
	buf_add(to, content, size);
	tar_put_padding(to, size);
}

static void
mend(struct buf *archive, size_t at, bool with_sign)
{
	int sum = 8 * ' ';

	for (size_t i = at; i < at + TAR_BLOCK; i++)
		if (i - at - 148 >= 8)
			sum += with_sign ? (signed char)archive->data[i]
					 : (unsigned char)archive->data[i];
	(void)snprintf(archive->data + at + 148, 8, "%06o", (unsigned)sum);
}

static void
add_mended(struct buf *to, char type, const char *content, size_t size)
{
	size_t at = to->size;

	add_block(to, type, content, size);
	mend(to, at, false);
}

#define X_SAYS "f x 0 0 0 0:0\n"

static const struct {
	const char *records;
	const char *says; /* NULL: refused */
} records_rows[] = {
    {"9 path=a\n", "f a 0 0 0 0:0\nend"},
    {"11 path=a/\n", "d a 0 0 0 0:0\nend"},
    {"9 path=a\n9 path=b\n", "f b 0 0 0 0:0\nend"},
    {"9 path=a\n8 path=\n", X_SAYS "end"},
    {"14 linkpath=l\n", X_SAYS "end"},
    {"9 uid=77\n9 gid=88\n", "f x 0 0 0 77:88\nend"},
    {"18 uid=4294967295\n", "f x 0 0 0 4294967295:0\nend"},
    {"18 uid=4294967296\n", "f x 0 0 0 4294967295:0\nend"},
    {"11 mtime=1\n", "f x 0 0 1000000000 0:0\nend"},
    {"13 mtime=1.5\n", "f x 0 0 1500000000 0:0\nend"},
    {"13 mtime=-.5\n", NULL},
    {"14 mtime=-0.5\n", "f x 0 0 -500000000 0:0\nend"},
    {"12 mtime=1.\n", "f x 0 0 1000000000 0:0\nend"},
    {"23 mtime=0.0000000019x\n", NULL},
    {"22 mtime=0.0000000019\n", "f x 0 0 1 0:0\nend"},
    {"27 mtime=99999999999999999\n", "f x 0 0 9223372036854775807 0:0\nend"},
    {"28 mtime=-99999999999999999\n", "f x 0 0 -9223372036854775808 0:0\nend"},
    {"25 SCHILY.xattr.user.a=\xff\n", X_SAYS "end"},
    {"22 GNU.sparse.major=1\n", "o x 0 0 0 0:0\nend"},
    {"11 comment=\n", NULL},
    {"12 comment=\n", X_SAYS "end"},
    {"13 comment=\n", NULL},
    {"8 path=a\n", NULL},
    {"11 path=a\n9 path=b\n", NULL},
    {"11 path=a\n", NULL},
    {"09 path=a\n", NULL},
    {"+9 path=a\n", NULL},
    {" 9 path=a\n", NULL},
    {"11  path=a\n", X_SAYS "end"},
    {"9\tpath=a\n", NULL},
    {"9 path=a ", NULL},
    {"9 patha=\n", X_SAYS "end"},
    {"9 pathab\n", NULL},
    {"6 =ab\n", NULL},
    {"3 \n", NULL},
    {"2\n", NULL},
    {"99999999999999999999999999 path=a\n", NULL},
    {"11 size=-1\n", NULL},
    {"10 size=1x\n", NULL},
    {"28 size=9223372036854775808\n", NULL},
    {"9 path=ab", NULL},
};

static void
records_are_checked_to_the_letter(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(records_rows) / sizeof(records_rows[0]);
	     i++) {
		BUF_AUTO archive = BUF_INIT(ARCHIVE_MAX);
		BUF_AUTO text = BUF_INIT(ARCHIVE_MAX);
		const char *records = records_rows[i].records;

		add_mended(&archive, 'x', records, strlen(records));
		add_block(&archive, '0', "", 0);
		tar_put_end(&archive);
		tar_text_cut(&archive, 0, 0, &text);
		bool refused = memcmp(text.data, "ERR", 3) == 0;
		if (records_rows[i].says == NULL
			? !refused
			: strcmp(text.data, records_rows[i].says) != 0)
			fail_msg("%s: %s", records, text.data);
	}
}

static void
a_nul_in_a_record_is_refused(void **state)
{
	static const char records[] = "12 path=a\0b\n";
	BUF_AUTO archive = BUF_INIT(ARCHIVE_MAX);

	(void)state;
	add_mended(&archive, 'x', records, sizeof(records) - 1);
	tar_says(&archive, "ERR The archive is malformed: a NUL in an extended "
			   "header.");
}

static void
a_record_s_size_is_the_content_s(void **state)
{
	BUF_AUTO archive = BUF_INIT(ARCHIVE_MAX);

	(void)state;
	add_mended(&archive, 'x', "9 size=3\n", 9);
	add_block(&archive, '0', "", 0);
	buf_adds(&archive, "abc");
	tar_put_padding(&archive, 3);
	/* Of this entry alone. */
	add_block(&archive, '0', "", 0);
	tar_says(&archive, "f x 0 3 0 0:0\nabc" X_SAYS "idle");
}

static void
types_with_and_without_content_are_told_apart(void **state)
{
	BUF_AUTO archive = BUF_INIT(ARCHIVE_MAX);

	(void)state;
	add_mended(&archive, '7', "contiguous", 10);
	add_mended(&archive, '\0', "old", 3);
	add_mended(&archive, 'V', "label", 5); /* skipped */
	/* Of these, a size says nothing. */
	for (const char *type = "123456"; *type != '\0'; type++) {
		size_t at = archive.size;

		add_block(&archive, '0', "", 0);
		archive.data[at + 135 - 1] = '7';
		archive.data[at + 156] = *type;
		mend(&archive, at, false);
	}
	tar_says(&archive, "f x 0 10 0 0:0\ncontiguous"
			   "f x 0 3 0 0:0\nold"
			   "o x 0 0 0 0:0\n"
			   "h x 0 0 0 0:0\n"
			   "l x 0 0 0 0:0\n"
			   "o x 0 0 0 0:0\n"
			   "o x 0 0 0 0:0\n"
			   "d x 0 0 0 0:0\n"
			   "o x 0 0 0 0:0\nidle");
}

static void
sparse_files_are_skipped_with_their_maps(void **state)
{
	BUF_AUTO archive = BUF_INIT(ARCHIVE_MAX);
	char map[TAR_BLOCK] = "";

	(void)state;
	add_block(&archive, 'S', "", 0);
	archive.data[134] = '3';
	archive.data[482] = 1; /* more of the map follows */
	mend(&archive, 0, false);
	map[504] = 1;
	buf_add(&archive, map, sizeof(map));
	map[504] = 0;
	buf_add(&archive, map, sizeof(map));
	buf_adds(&archive, "abc");
	tar_put_padding(&archive, 3);
	add_block(&archive, '0', "", 0);
	tar_says(&archive, "o x 0 0 0 0:0\n" X_SAYS "idle");
}

static void
sums_of_signed_bytes_are_taken_too(void **state)
{
	BUF_AUTO archive = BUF_INIT(ARCHIVE_MAX);

	(void)state;
	add_block(&archive, '0', "", 0);
	archive.data[0] = '\xff';
	mend(&archive, 0, true);
	tar_says(&archive, "f \xff 0 0 0 0:0\nidle");
	archive.data[0]--;
	tar_says(&archive,
	    "ERR The archive is malformed: a header's checksum is "
	    "wrong (it has to be a tar archive, not compressed).");
}

static void
base_256_has_its_bounds(void **state)
{
	static const struct {
		unsigned char size[12];
		const char *says;
	} rows[] = {
	    {{0x80, [11] = 0}, X_SAYS "idle"},
	    {{0x80, [10] = 1, 0}, "f x 0 256 0 0:0\ncut"},
	    {{0x80, 0, 0, 0, 0x80},
		"ERR The archive is malformed: a size that no file has."},
	    {{0x80, 1, [11] = 0},
		"ERR The archive is malformed: a size that no file has."},
	    {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		 0xff},
		"ERR The archive is malformed: a size that no file has."},
	    {{'8'}, "ERR The archive is malformed: a number in a header is "
		    "none."},
	    {{'-', '1'}, "ERR The archive is malformed: a number in a header "
			 "is none."},
	    {{' ', ' ', '0', ' '}, X_SAYS "idle"},
	    {{0}, X_SAYS "idle"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		BUF_AUTO archive = BUF_INIT(ARCHIVE_MAX);

		add_block(&archive, '0', "", 0);
		memcpy(archive.data + 124, rows[i].size, 12);
		mend(&archive, 0, false);
		tar_says(&archive, rows[i].says);
	}
}

static void
what_has_no_bound_is_refused(void **state)
{
	BUF_AUTO archive = BUF_INIT(ARCHIVE_MAX);
	char *big = calloc(1, TAR_RECORDS_MAX + 1);

	(void)state;
	memset(big, 'n', TAR_RECORDS_MAX + 1);
	for (const char *type = "xgLK"; *type != '\0'; type++) {
		BUF_AUTO text = BUF_INIT(ARCHIVE_MAX);

		buf_reset(&archive);
		add_mended(&archive, *type, big, TAR_RECORDS_MAX + 1);
		tar_text_cut(&archive, 0, 0, &text);
		assert_memory_equal(text.data, "ERR", 3);
	}
	buf_reset(&archive);
	add_mended(&archive, 'L', big, TAR_PATH_MAX + 2);
	tar_says(&archive,
	    "ERR The archive is malformed: a path is longer than "
	    "4095 bytes.");
	buf_reset(&archive);
	add_mended(&archive, 'L', big, TAR_PATH_MAX + 1);
	add_block(&archive, '0', "", 0);
	tar_says(&archive,
	    "ERR The archive is malformed: a path is longer than "
	    "4095 bytes.");
	free(big);
}

static void
an_entry_that_is_missing_is_told(void **state)
{
	BUF_AUTO archive = BUF_INIT(ARCHIVE_MAX);
	const struct tar_entry nameless = {
	    .type = TAR_FILE, .name = "", .link = ""};

	(void)state;
	add_mended(&archive, 'x', "12 comment=\n", 12);
	tar_says(&archive, "cut");
	tar_put_end(&archive);
	tar_says(&archive, "ERR The archive is malformed: it ends before an "
			   "entry.");
	buf_reset(&archive);
	tar_put(&archive, &nameless);
	tar_says(&archive, "ERR The archive is malformed: an entry without a "
			   "name.");
	/* One block of zeros is no end. */
	buf_reset(&archive);
	tar_put_end(&archive);
	archive.size = TAR_BLOCK;
	add_block(&archive, '0', "", 0);
	tar_put_end(&archive);
	buf_adds(&archive, "what follows is dropped");
	tar_says(&archive, X_SAYS "end");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(records_are_checked_to_the_letter),
	    cmocka_unit_test(a_nul_in_a_record_is_refused),
	    cmocka_unit_test(a_record_s_size_is_the_content_s),
	    cmocka_unit_test(types_with_and_without_content_are_told_apart),
	    cmocka_unit_test(sparse_files_are_skipped_with_their_maps),
	    cmocka_unit_test(sums_of_signed_bytes_are_taken_too),
	    cmocka_unit_test(base_256_has_its_bounds),
	    cmocka_unit_test(what_has_no_bound_is_refused),
	    cmocka_unit_test(an_entry_that_is_missing_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
