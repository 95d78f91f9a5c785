/* proxy/hello: the server name in a ClientHello. */
#include "../../proxy/hello.h"
#include "../check.h"
#include "lib/buf.h"
#include "lib/mem.h"

#include <stdlib.h>
#include <string.h>

static void
put_number(struct buf *out, size_t value, int width)
{
	for (int i = width - 1; i >= 0; i--)
		buf_addc(out, (char)(value >> (8 * i) & 0xff));
}

static void
put_vector(struct buf *out, const void *bytes, size_t size, int width)
{
	put_number(out, size, width);
	buf_add(out, bytes, size);
}

static void
put_extension(struct buf *out, int type, const struct buf *body)
{
	put_number(out, (size_t)type, 2);
	put_vector(out, body->data, body->size, 2);
}

/* A server_name extension (RFC 6066 3). */
static void
put_name(struct buf *out, int type, const char *name, size_t size)
{
	BUF_AUTO list = BUF_INIT(70000);
	BUF_AUTO body = BUF_INIT(70000);

	buf_addc(&list, (char)type);
	put_vector(&list, name, size, 2);
	put_vector(&body, list.data, list.size, 2);
	put_extension(out, 0, &body);
}

static void
put_padding(struct buf *out, size_t size)
{
	BUF_AUTO body = BUF_INIT(70000);

	memset(buf_grow(&body, size), 0, size);
	body.size = size;
	put_extension(out, 21, &body);
}

/* The message, with those extensions; NULL: without the field for them. */
static void
put_message(struct buf *out, const struct buf *extensions)
{
	static const char random[34] = {3, 3};
	BUF_AUTO body = BUF_INIT(70000);

	buf_add(&body, random, sizeof(random));
	put_vector(&body, random, 32, 1); /* session */
	put_vector(&body, "\x13\x01\x13\x02", 4, 2);
	put_vector(&body, "", 1, 1); /* compression: none */
	if (extensions != NULL)
		put_vector(&body, extensions->data, extensions->size, 2);
	buf_addc(out, 1);
	put_vector(out, body.data, body.size, 3);
}

/* In records of so many bytes of the message. */
static void
put_records(struct buf *out, const struct buf *message, size_t most)
{
	for (size_t at = 0; at < message->size; at += most) {
		size_t left = message->size - at;

		buf_add(out, "\x16\x03\x01", 3);
		put_vector(
		    out, message->data + at, left < most ? left : most, 2);
	}
}

/* Of an exact copy on the heap, so that a sanitizer sees a read beyond it. */
static enum hello
read_copy(const char *bytes, size_t size, char name[ALLOW_NAME_MAX + 1])
{
	char *copy = mem_alloc(size);
	enum hello said;
	size_t used = 0;

	if (size > 0)
		memcpy(copy, bytes, size);
	said = hello_read(copy, size, name, &used);
	if (said == HELLO_NAME || said == HELLO_NO_NAME)
		assert_int_equal(used, size);
	free(copy);
	return said;
}

/* However much of it is there, it is that or not known yet. */
static void
check(const struct buf *bytes, enum hello want, const char *want_name)
{
	char name[ALLOW_NAME_MAX + 1] = "";
	enum hello said;

	for (size_t part = 0; part < bytes->size; part++) {
		said = read_copy(bytes->data, part, name);
		if (said != HELLO_MORE && said != want)
			fail_msg("%zu of %zu: %d", part, bytes->size, said);
	}
	said = read_copy(bytes->data, bytes->size, name);
	assert_int_equal(said, want);
	if (want_name != NULL)
		assert_string_equal(name, want_name);
}

/* With those extensions, in records of several sizes. */
static void
check_extensions(
    const struct buf *extensions, enum hello want, const char *name)
{
	static const size_t steps[] = {16384, 100, 7, 1};
	BUF_AUTO message = BUF_INIT(70000);

	put_message(&message, extensions);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		BUF_AUTO bytes = BUF_INIT(1u << 20);

		put_records(&bytes, &message, steps[i]);
		check(&bytes, want, name);
	}
}

static void
check_name(const char *name, size_t size, enum hello want)
{
	BUF_AUTO extensions = BUF_INIT(70000);

	put_padding(&extensions, 3);
	put_name(&extensions, 0, name, size);
	put_padding(&extensions, 30);
	check_extensions(&extensions, want, want == HELLO_NAME ? name : NULL);
}

static void
the_name_is_found_however_it_is_cut(void **state)
{
	(void)state;
	check_name("a.test", 6, HELLO_NAME);
	check_name("Allowed.Test.", 13, HELLO_NAME);
	check_name("xn--bcher-kva.test", 18, HELLO_NAME);
	check_name("192.0.2.1", 9, HELLO_NAME);
}

static void
a_hello_may_have_no_name(void **state)
{
	BUF_AUTO extensions = BUF_INIT(70000);

	(void)state;
	check_extensions(NULL, HELLO_NO_NAME, NULL);
	check_extensions(&extensions, HELLO_NO_NAME, NULL);
	put_padding(&extensions, 10);
	check_extensions(&extensions, HELLO_NO_NAME, NULL);
}

static void
names_that_are_none_are_refused(void **state)
{
	char longest[256];

	(void)state;
	memset(longest, 'x', sizeof(longest));
	check_name("", 0, HELLO_BAD);
	check_name("a.test\0.b.test", 14, HELLO_BAD);
	check_name("a b.test", 8, HELLO_BAD);
	check_name("a..test", 7, HELLO_BAD);
	check_name("\xc3\xa9.test", 7, HELLO_BAD);
	check_name("0x7f.1", 6, HELLO_BAD);
	check_name("a.test:443", 10, HELLO_BAD);
	check_name(longest, sizeof(longest), HELLO_BAD);
}

static void
there_is_one_name_at_most(void **state)
{
	static const char two[] = "\0\x12\0\0\6a.test\0\0\6b.test";
	static const char none[] = "\0\0";
	static const char cut[] = "\0\x9\0\0\7a.test";
	static const char more[] = "\0\x9\0\0\6a.testx";
	static const struct {
		const char *at;
		size_t size;
	} bodies[] = {{two, sizeof(two) - 1}, {none, 2}, {cut, 11}, {more, 12},
	    {"", 0}, {"\0", 1}};

	(void)state;
	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		BUF_AUTO extensions = BUF_INIT(70000);
		BUF_AUTO body = BUF_INIT(100);

		buf_add(&body, bodies[i].at, bodies[i].size);
		put_extension(&extensions, 0, &body);
		check_extensions(&extensions, HELLO_BAD, NULL);
	}
	BUF_AUTO twice = BUF_INIT(70000);
	put_name(&twice, 0, "a.test", 6);
	put_name(&twice, 0, "a.test", 6);
	check_extensions(&twice, HELLO_BAD, NULL);
	BUF_AUTO other = BUF_INIT(70000);
	put_name(&other, 1, "a.test", 6);
	check_extensions(&other, HELLO_BAD, NULL);
}

static void
lengths_that_do_not_add_up_are_refused(void **state)
{
	BUF_AUTO extensions = BUF_INIT(70000);
	BUF_AUTO message = BUF_INIT(70000);
	size_t size;

	(void)state;
	put_name(&extensions, 0, "a.test", 6);
	put_message(&message, &extensions);
	size = message.size;
	/* Each shorter message, whose head says so. */
	for (size_t less = 1; less <= size - 4; less++) {
		BUF_AUTO bytes = BUF_INIT(70000);
		char name[ALLOW_NAME_MAX + 1];
		size_t used;

		message.size = size - less;
		message.data[3] = (char)(message.size - 4);
		put_records(&bytes, &message, 16384);
		enum hello said =
		    hello_read(bytes.data, bytes.size, name, &used);
		/* One of them ends before the extensions. */
		assert_int_equal(said,
		    less == extensions.size + 2 ? HELLO_NO_NAME : HELLO_BAD);
	}
	/* And a longer one. */
	BUF_AUTO bytes = BUF_INIT(70000);
	message.size = size;
	buf_addc(&message, 'x');
	message.data[3] = (char)(message.size - 4);
	put_records(&bytes, &message, 16384);
	check(&bytes, HELLO_BAD, NULL);
}

static void
a_hello_too_long_to_be_seen_whole_is_refused(void **state)
{
	(void)state;
	for (size_t more = 0; more < 2; more++) {
		BUF_AUTO extensions = BUF_INIT(70000);
		BUF_AUTO message = BUF_INIT(70000);
		BUF_AUTO bytes = BUF_INIT(70000);
		char name[ALLOW_NAME_MAX + 1];
		size_t used;

		put_padding(&extensions, 16000);
		put_name(&extensions, 0, "a.test", 6);
		put_padding(&extensions, 275 + more);
		put_message(&message, &extensions);
		put_records(&bytes, &message, 16384);
		assert_int_equal(bytes.size, HELLO_MAX + more);
		assert_int_equal(
		    hello_read(bytes.data, bytes.size, name, &used),
		    more ? HELLO_BAD : HELLO_NAME);
		/* Its first bytes say so. */
		assert_int_equal(hello_read(bytes.data, 9, name, &used),
		    more ? HELLO_BAD : HELLO_MORE);
	}
}

static void
what_is_no_tls_gets_no_opinion(void **state)
{
	static const char *const others[] = {"GET / HTTP/1.1\r\n\r\n",
	    "SSH-2.0-x\r\n", "\x15\x03\x01", "\x16\x02", "\x80\x2e\x01",
	    "PRI * HTTP/2.0\r\n\r\n"};
	static const struct {
		const char *at;
		size_t size;
	} broken[] = {
	    {"\x16\x03\x01\0\0", 5},	       /* an empty record */
	    {"\x16\x03\x01\x40\x01", 5},       /* one too long */
	    {"\x16\x03\x01\0\1\2", 6},	       /* a ServerHello */
	    {"\x16\x03\x01\0\1\1\x17\x03", 8}, /* another type within */
	    {"\x16\x03\x01\0\1\1\x16\x02", 8}, /* another version */
	    {"\x16\x03\x01\0\4\1\x01\0\0", 9}, /* a long message */
	    {"\x16\x03\x01\0\4\1\0\0\0", 9},   /* an empty message */
	    {"\x16\x03\x01\1\0\1\0\0\xfb", 9}, /* something behind it */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		BUF_AUTO bytes = BUF_INIT(100);

		buf_adds(&bytes, others[i]);
		check(&bytes, HELLO_NOT_TLS, NULL);
	}
	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
		BUF_AUTO bytes = BUF_INIT(100);

		buf_add(&bytes, broken[i].at, broken[i].size);
		check(&bytes, HELLO_BAD, NULL);
	}
}

/* An extension that encrypts another hello says nothing of whom the outer one
 * is for. */
static void
of_an_encrypted_hello_the_outer_name_is_found(void **state)
{
	static const char ech[] = "\0\0\1\0\1\7\0\x20inner.test";
	BUF_AUTO extensions = BUF_INIT(70000);
	BUF_AUTO body = BUF_INIT(100);

	(void)state;
	buf_add(&body, ech, sizeof(ech) - 1);
	put_extension(&extensions, 0xfe0d, &body);
	put_name(&extensions, 0, "public.test", 11);
	check_extensions(&extensions, HELLO_NAME, "public.test");
}

/* -- what comes between two hellos ----------------------------------------- */

static const char retry[] =
    "\x02\0\0\x2c\3\3\xcf\x21\xad\x74\xe5\x9a\x61\x11\xbe\x1d\x8c\x02"
    "\x1e\x65\xb8\x91\xc2\xa2\x11\x16\x7a\xbb\x8c\x5e\x07\x9e\x09\xe2\xc8"
    "\xa8\x33\x9c\0\x13\1\0\0\4";
#define RETRY_SIZE (sizeof(retry) - 1)

static enum hello_answer
answer_of(const char *bytes, size_t size)
{
	char *copy = mem_alloc(size);
	enum hello_answer said;

	if (size > 0)
		memcpy(copy, bytes, size);
	said = hello_answer(copy, size);
	free(copy);
	return said;
}

static void
check_answer(const struct buf *bytes, enum hello_answer want)
{
	for (size_t part = 0; part < bytes->size; part++) {
		enum hello_answer said = answer_of(bytes->data, part);

		if (said != HELLO_ANSWER_MORE && said != want)
			fail_msg("%zu of %zu: %d", part, bytes->size, said);
	}
	assert_int_equal(answer_of(bytes->data, bytes->size), want);
}

static void
that_another_hello_is_wanted_is_seen(void **state)
{
	static const size_t steps[] = {16384, 40, 7, 1};

	(void)state;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		struct buf message = {
		    .data = (char *)(uintptr_t)retry, .size = RETRY_SIZE};
		BUF_AUTO bytes = BUF_INIT(4096);

		/* A warning may come before it. */
		buf_add(&bytes, "\x15\3\3\0\2\1\x70", 7);
		put_records(&bytes, &message, steps[i]);
		check_answer(&bytes, HELLO_ANSWER_RETRY);
	}
}

static void
another_answer_is_none_that_wants_a_hello(void **state)
{
	static const char *const others[] = {"HTTP/1.1 400 Bad Request\r\n",
	    "\x16\x02", "\x15\3\3\1\1", "\x17\3\3", "no"};

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		BUF_AUTO bytes = BUF_INIT(100);

		buf_adds(&bytes, others[i]);
		check_answer(&bytes, HELLO_ANSWER_OTHER);
	}
	/* A ServerHello, in which each byte of the random is another once. */
	for (size_t at = 0; at < 38; at++) {
		BUF_AUTO message = BUF_INIT(100);
		BUF_AUTO bytes = BUF_INIT(100);
		bool matters = at == 0 || at >= 6;

		buf_add(&message, retry, RETRY_SIZE);
		message.data[at] = (char)(message.data[at] ^ 1);
		put_records(&bytes, &message, 16384);
		check_answer(
		    &bytes, matters ? HELLO_ANSWER_OTHER : HELLO_ANSWER_RETRY);
	}
	/* What comes to no end. */
	BUF_AUTO endless = BUF_INIT(70000);
	while (endless.size < HELLO_MAX)
		buf_add(&endless, "\x15\3\3\0\2\1\x70", 7);
	check_answer(&endless, HELLO_ANSWER_OTHER);
}

static void
what_may_come_between_hellos_has_a_size(void **state)
{
	(void)state;
	assert_int_equal(hello_other("\x14\3\3\0\1\1", 6), 6);
	assert_int_equal(hello_other("\x14\3\3\0\1", 5), 6);
	assert_int_equal(hello_other("\x14\3\3\0", 4), 0);
	assert_int_equal(hello_other("\x15\3\1\0\2", 5), 7);
	assert_int_equal(hello_other("\x17\3\3\x41\0", 5), HELLO_OTHER_MAX);
	assert_int_equal(hello_other("\x17\3\3\x41\1", 5), 0);
	assert_int_equal(hello_other("\x17\2\3\0\1", 5), 0);
	assert_int_equal(hello_other("\x16\3\3\0\1", 5), 0);
	assert_int_equal(hello_other("GET /", 5), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_name_is_found_however_it_is_cut),
	    cmocka_unit_test(a_hello_may_have_no_name),
	    cmocka_unit_test(names_that_are_none_are_refused),
	    cmocka_unit_test(there_is_one_name_at_most),
	    cmocka_unit_test(lengths_that_do_not_add_up_are_refused),
	    cmocka_unit_test(a_hello_too_long_to_be_seen_whole_is_refused),
	    cmocka_unit_test(what_is_no_tls_gets_no_opinion),
	    cmocka_unit_test(of_an_encrypted_hello_the_outer_name_is_found),
	    cmocka_unit_test(that_another_hello_is_wanted_is_seen),
	    cmocka_unit_test(another_answer_is_none_that_wants_a_hello),
	    cmocka_unit_test(what_may_come_between_hellos_has_a_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
