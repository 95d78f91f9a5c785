/* run/mounted: which mount a line of mountinfo tells of. */
#include "../check.h"
#include "run/mounted.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LOWER "/var/cache/repos/acme+site/g-1/tree"
#define UPPER "/var/cache/runs/2/upper"
#define OPTIONS "lowerdir=" LOWER ",upperdir=" UPPER ",workdir=/w,index=on"

static bool
tells(const char *text, int id)
{
	char line[1024];

	(void)snprintf(line, sizeof(line), "%s", text);
	return mounted_line(line, id, LOWER, UPPER);
}

static void
the_own_overlay_is_known(void **state)
{
	(void)state;
	assert_true(tells("471 30 0:60 / /v/_data rw,relatime shared:7 - "
			  "overlay overlay rw," OPTIONS "\n",
	    471));
	/* Without tags, and with more options than were given. */
	assert_true(tells("471 30 0:60 / /v/_data rw - overlay overlay "
			  "rw,xino=on," OPTIONS ",redirect_dir=on",
	    471));
}

static void
another_mount_is_not_it(void **state)
{
	static const char *const others[] = {
	    "",
	    "\n",
	    "471",
	    "471 30 0:60 /",
	    "471 30 0:60 / /v rw",
	    "471 30 0:60 / /v rw - overlay",
	    "471 30 0:60 / /v rw - overlay overlay",
	    "x 30 0:60 / /v rw - overlay overlay rw," OPTIONS,
	    /* another mount, a part of one, another file system */
	    "47 30 0:60 / /v rw - overlay overlay rw," OPTIONS,
	    "471 30 0:60 /a /v rw - overlay overlay rw," OPTIONS,
	    "471 30 0:60 / /v rw - ext4 overlay rw," OPTIONS,
	    /* other layers */
	    "471 30 0:60 / /v rw - overlay overlay rw,lowerdir=" LOWER
	    "x,upperdir=" UPPER,
	    "471 30 0:60 / /v rw - overlay overlay rw,lowerdir=/x:" LOWER
	    ",upperdir=" UPPER,
	    "471 30 0:60 / /v rw - overlay overlay rw,lowerdir=" LOWER
	    ",upperdir=" UPPER "2",
	    "471 30 0:60 / /v rw - overlay overlay rw,lowerdir=" LOWER,
	    "471 30 0:60 / /v rw - overlay overlay rw,upperdir=" UPPER,
	    "471 30 0:60 / /v rw - overlay overlay rw,xlowerdir=" LOWER
	    ",upperdir=" UPPER,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (tells(others[i], 471))
			fail_msg("taken: %s", others[i]);
}

static void
what_the_kernel_escapes_is_read_back(void **state)
{
	char line[] = "8 3 0:60 / /v rw - overlay overlay "
		      "rw,lowerdir=/a\\040b\\054c\\134d,upperdir=/u\\012";
	char cut[] = "8 3 0:60 / /v rw - overlay overlay "
		     "rw,lowerdir=/a\\04,upperdir=/u\\x";

	(void)state;
	assert_true(mounted_line(line, 8, "/a b,c\\d", "/u\n"));
	assert_true(mounted_line(cut, 8, "/a\\04", "/u\\x"));
}

/* What is no overlay is not looked for. */
static void
a_plain_directory_is_none(void **state)
{
	int fd = open("/proc/self", O_RDONLY | O_DIRECTORY);

	(void)state;
	assert_false(mounted_overlay(fd, LOWER, UPPER));
	assert_false(mounted_overlay(-1, LOWER, UPPER));
	(void)close(fd);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_own_overlay_is_known),
	    cmocka_unit_test(another_mount_is_not_it),
	    cmocka_unit_test(what_the_kernel_escapes_is_read_back),
	    cmocka_unit_test(a_plain_directory_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
