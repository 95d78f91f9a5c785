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

	if (size > 0)
		memcpy(copy, bytes, size);
	said = hello_read(copy, size, name);
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

		message.size = size - less;
		message.data[3] = (char)(message.size - 4);
		put_records(&bytes, &message, 16384);
		enum hello said = hello_read(bytes.data, bytes.size, name);
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

		put_padding(&extensions, 16000);
		put_name(&extensions, 0, "a.test", 6);
		put_padding(&extensions, 275 + more);
		put_message(&message, &extensions);
		put_records(&bytes, &message, 16384);
		assert_int_equal(bytes.size, HELLO_MAX + more);
		assert_int_equal(hello_read(bytes.data, bytes.size, name),
		    more ? HELLO_BAD : HELLO_NAME);
		/* Its first bytes say so. */
		assert_int_equal(hello_read(bytes.data, 9, name),
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
