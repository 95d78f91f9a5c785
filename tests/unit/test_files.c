/* api/files: paths, entries and entity tags, without a run. */
#include "../check.h"
#include "api/files_body.h"
#include "api/files_input.h"
#include "api/files_list.h"
#include "http/target.h"

#include <string.h>

static struct arena arena = ARENA_INIT;

static int
empty_arena(void **state)
{
	(void)state;
	arena_release(&arena);
	return 0;
}

/* What is asked for; the run's id is "R". */
static int
ask(const char *method, const char *target, struct files_input *in,
    struct err *e)
{
	static const char *const patterns[] = {
	    "/v1/runs/{id}/files", "/v1/runs/{id}/files/{path...}"};
	struct exchange x = {
	    .arena = &arena, .method = method, .target = target};
	struct call c = {.x = &x};
	char allow[64];

	check_ok(target_parse(&x, e), e);
	const struct route table[] = {
	    {.method = method, .pattern = patterns[0]},
	    {.method = method, .pattern = patterns[1]}};
	c.route = router_find(table, 2, &x, allow, sizeof(allow), e);
	assert_non_null(c.route);
	return files_input(&c, in, e);
}

#define FILES "/v1/runs/01arz3ndektsv4rrffq69g5fav/files"

static void
what_is_asked_follows_from_method_and_query(void **state)
{
	static const struct {
		const char *method, *target;
		enum wire_file_what what;
		const char *path, *to;
		bool recursive;
	} asked[] = {{"GET", FILES "/a/b", WIRE_FILE_GET, "a/b", "", false},
	    {"GET", FILES "/a?list=1", WIRE_FILE_LIST, "a", "", false},
	    {"GET", FILES "?list=true", WIRE_FILE_LIST, "", "", false},
	    {"GET", FILES "/a?stat=1&list=0", WIRE_FILE_STAT, "a", "", false},
	    {"GET", FILES "/a?archive=tar", WIRE_FILE_PACK, "a", "", false},
	    {"PUT", FILES "/a%20b+c", WIRE_FILE_PUT, "a b+c", "", false},
	    {"PUT", FILES "?archive=tar", WIRE_FILE_UNPACK, "", "", false},
	    {"POST", FILES "/a?mkdir=1", WIRE_FILE_MKDIR, "a", "", false},
	    {"POST", FILES "/a?move=b+c/d%2Be", WIRE_FILE_MOVE, "a", "b c/d+e",
		false},
	    {"DELETE", FILES "/a", WIRE_FILE_REMOVE, "a", "", false},
	    {"DELETE", FILES "/a?recursive=1", WIRE_FILE_REMOVE, "a", "",
		true}};

	(void)state;
	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		struct files_input in;
		struct err e = ERR_INIT;

		check_ok(ask(asked[i].method, asked[i].target, &in, &e), &e);
		assert_string_equal(in.id, "01ARZ3NDEKTSV4RRFFQ69G5FAV");
		assert_int_equal(in.what, asked[i].what);
		assert_string_equal(in.path, asked[i].path);
		assert_string_equal(in.to, asked[i].to);
		assert_int_equal(in.recursive, asked[i].recursive);
	}
}

static void
what_makes_no_sense_is_refused(void **state)
{
	static const struct {
		const char *method, *target;
		enum err_kind kind;
	} asked[] = {{"GET", "/v1/runs/x/files/a", ERR_RUN_ABSENT},
	    {"GET", FILES "/a?list=2", ERR_INPUT},
	    {"GET", FILES "/a?list=1&archive=tar", ERR_INPUT},
	    {"PUT", FILES "/a?archive=tgz", ERR_INPUT},
	    {"POST", FILES "/a", ERR_INPUT},
	    {"POST", FILES "/a?move=", ERR_INPUT},
	    {"POST", FILES "/a?move=/b", ERR_INPUT},
	    {"POST", FILES "/a?move=%", ERR_INPUT},
	    {"POST", FILES "/a?move=b/", ERR_PATH},
	    {"POST", FILES "/a?move=../b", ERR_PATH},
	    {"POST", FILES "/a?move=b&mkdir=1", ERR_INPUT},
	    {"DELETE", FILES "/a?recursive=no", ERR_INPUT}};

	(void)state;
	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		struct files_input in;
		struct err e = ERR_INIT;

		check_fails(ask(asked[i].method, asked[i].target, &in, &e), &e,
		    asked[i].kind);
	}
}

static void
paths_have_the_kernels_limits(void **state)
{
	char path[WIRE_PATH_MAX + 2];
	struct err e = ERR_INIT;

	(void)state;
	memset(path, 'a', sizeof(path));
	path[WIRE_NAME_MAX] = '\0';
	check_ok(files_path_check(path, &e), &e);
	path[WIRE_NAME_MAX] = 'a';
	path[WIRE_NAME_MAX + 1] = '\0';
	check_fails(files_path_check(path, &e), &e, ERR_PATH);
	path[WIRE_NAME_MAX + 1] = 'a';
	for (size_t i = 200; i < sizeof(path); i += 200)
		path[i] = '/';
	path[WIRE_PATH_MAX] = '\0';
	check_ok(files_path_check(path, &e), &e);
	path[WIRE_PATH_MAX] = 'a';
	path[WIRE_PATH_MAX + 1] = '\0';
	check_fails(files_path_check(path, &e), &e, ERR_PATH);
	check_ok(files_path_check("", &e), &e);
}

static void
check_entry(const struct wire_stat *st, const char *want)
{
	BUF_AUTO text = BUF_INIT(1 << 16);
	struct jw w = JW_INIT(&text);

	jw_open(&w, '{');
	files_entry(&w, st);
	jw_close(&w, '}');
	assert_string_equal(text.data, want);
}

static void
an_entry_tells_everything_exactly(void **state)
{
	(void)state;
	check_entry(&(struct wire_stat){.type = WIRE_TYPE_FILE,
			.mode = 0644,
			.size = 5,
			.mtime_ns = 1700000000123456789,
			.name = "a \"b\"",
			.target = ""},
	    "{\"name\":\"a \\\"b\\\"\",\"type\":\"file\",\"size\":5,"
	    "\"mode\":\"0644\",\"mtime\":\"2023-11-14T22:13:20.123Z\"}");
	check_entry(&(struct wire_stat){.type = WIRE_TYPE_SYMLINK,
			.mode = 0777,
			.name = "\377",
			.target = "x\376"},
	    "{\"name\":\"\357\277\275\",\"nameBase64\":\"/w==\","
	    "\"type\":\"symlink\",\"size\":0,\"mode\":\"0777\","
	    "\"mtime\":\"1970-01-01T00:00:00.000Z\","
	    "\"target\":\"x\357\277\275\",\"targetBase64\":\"eP4=\"}");
	check_entry(&(struct wire_stat){.type = WIRE_TYPE_DIRECTORY,
			.mode = 01777,
			.mtime_ns = -1,
			.name = "d",
			.target = ""},
	    "{\"name\":\"d\",\"type\":\"directory\",\"size\":0,"
	    "\"mode\":\"1777\",\"mtime\":\"1970-01-01T00:00:00.000Z\"}");
}

static void
a_tag_is_of_version_and_size(void **state)
{
	char tag[FILES_ETAG_SIZE];

	(void)state;
	files_etag(&(struct wire_stat){.tag = 0xabcdef, .size = 0x10}, tag);
	assert_string_equal(tag, "\"abcdef-10\"");
	files_etag(
	    &(struct wire_stat){.tag = UINT64_MAX, .size = UINT64_MAX}, tag);
	assert_string_equal(tag, "\"ffffffffffffffff-ffffffffffffffff\"");
}

int
main(void)
{
#define T(name) cmocka_unit_test_teardown(name, empty_arena)
	const struct CMUnitTest tests[] = {
	    T(what_is_asked_follows_from_method_and_query),
	    T(what_makes_no_sense_is_refused),
	    T(paths_have_the_kernels_limits),
	    T(an_entry_tells_everything_exactly),
	    T(a_tag_is_of_version_and_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
