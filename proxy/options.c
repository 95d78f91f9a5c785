/* The command line. */
#include "options.h"
#include "lib/str.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct option;

typedef int reader(
    const struct option *row, void *to, const char *value, struct err *e);

struct option {
	const char *name, *argument; /* argument NULL: takes none */
	reader *read;
	size_t member; /* of struct options */
	int64_t standard, least, most;
	const char *text;
};

static reader read_place, read_text, read_pid, read_user, read_subnet,
    read_flag, read_limit;

#define OPTION(member, reader, name, argument, text)                        \
	{name, argument, reader, offsetof(struct options, member), 0, 0, 0, \
	    text},
#define LIMIT(field, name, standard, least, most, text)                 \
	{name, "N", read_limit, offsetof(struct options, limits.field), \
	    standard, least, most, text},
static const struct option rows[] = {
#include "options.def"

#include "limits.def"
};
#undef OPTION
#undef LIMIT

static const size_t row_count = sizeof(rows) / sizeof(rows[0]);

/* -- reading one ----------------------------------------------------------- */

static int
refuse(
    const struct option *row, const char *value, const char *why, struct err *e)
{
	return err_set(e, ERR_INPUT, "--%s %s: %s", row->name, value, why);
}

static int
read_text(const struct option *row, void *to, const char *value, struct err *e)
{
	if (value[0] == '\0')
		return refuse(row, value, "it is empty", e);
	*(const char **)to = value;
	return 0;
}

static int
read_flag(const struct option *row, void *to, const char *value, struct err *e)
{
	(void)row;
	(void)value;
	(void)e;
	*(bool *)to = true;
	return 0;
}

static int
read_limit(const struct option *row, void *to, const char *value, struct err *e)
{
	if (str_to_int(value, row->least, row->most, to) == 0)
		return 0;
	return err_set(e, ERR_INPUT, "--%s %s: not a number from %lld to %lld",
	    row->name, value, (long long)row->least, (long long)row->most);
}

static int
read_pid(const struct option *row, void *to, const char *value, struct err *e)
{
	int64_t pid;

	if (str_to_int(value, 1, INT32_MAX, &pid) != 0)
		return refuse(row, value, "no process has that number", e);
	*(int *)to = (int)pid;
	return 0;
}

static int
read_user(const struct option *row, void *to, const char *value, struct err *e)
{
	int64_t user;

	/* (uid_t)-1 is none. */
	if (str_to_int(value, 1, INT32_MAX, &user) != 0)
		return refuse(row, value, "no user but root has it", e);
	*(int *)to = (int)user;
	return 0;
}

static int
read_subnet(
    const struct option *row, void *to, const char *value, struct err *e)
{
	struct cidr subnet;

	if (!cidr_parse(value, &subnet) || subnet.base.family != 4 ||
	    subnet.bits < 1 || subnet.bits > 30)
		return refuse(row, value,
		    "it is no subnet like 10.219.0.0/29, with zeros behind "
		    "the prefix and room for two",
		    e);
	*(struct cidr *)to = subnet;
	return 0;
}

/* An address, which no name is taken for, and its port, 0 for any. */
static int
read_place(const struct option *row, void *to, const char *value, struct err *e)
{
	struct options *o =
	    (void *)((char *)to - offsetof(struct options, address));
	const char *colon = strrchr(value, ':');
	struct allow_host host;
	int64_t port;

	if (colon == NULL || str_to_int(colon + 1, 0, 65535, &port) != 0)
		return refuse(
		    row, value, "a port from 0 to 65535 is missing", e);
	if (allow_host_parse(value, (size_t)(colon - value), &host, e) != 0 ||
	    !host.is_address)
		return refuse(row, value, "it has no address", e);
	o->address = host.address;
	o->port = (uint16_t)port;
	return 0;
}

/* -- reading all ----------------------------------------------------------- */

/* "--name", up to an '=' or the end. */
static const struct option *
find(const char *argument)
{
	size_t size = strcspn(argument, "=");

	for (size_t i = 0; i < row_count; i++)
		if (size == strlen(rows[i].name) + 2 &&
		    memcmp(argument, "--", 2) == 0 &&
		    memcmp(argument + 2, rows[i].name, size - 2) == 0)
			return &rows[i];
	return NULL;
}

static int
read_all(int argc, char **argv, struct options *o, struct err *e)
{
	for (int i = 1; i < argc; i++) {
		const struct option *row = find(argv[i]);
		const char *equals = strchr(argv[i], '=');
		const char *value = "";

		if (row == NULL)
			return err_set(e, ERR_INPUT,
			    "there is no option %s; see --help", argv[i]);
		if (row->argument == NULL && equals != NULL)
			return refuse(row, equals, "it takes no argument", e);
		if (row->argument != NULL && equals != NULL)
			value = equals + 1;
		else if (row->argument != NULL && ++i < argc)
			value = argv[i];
		else if (row->argument != NULL)
			return refuse(row, row->argument, "it is missing", e);
		if (row->read(row, (char *)o + row->member, value, e) != 0)
			return -1;
	}
	return 0;
}

int
options_parse(int argc, char **argv, struct options *ret_o, struct err *e)
{
	struct options o = {.control = "",
	    .name = "",
	    .netns = "",
	    .resolv = "/etc/resolv.conf",
	    .hosts = "/etc/hosts"};

	for (size_t i = 0; i < row_count; i++)
		if (rows[i].read == read_limit)
			*(int64_t *)(void *)((char *)&o + rows[i].member) =
			    rows[i].standard;
	if (read_all(argc, argv, &o, e) != 0)
		return -1;
	if (!o.help && o.policy == NULL)
		return err_set(e, ERR_INPUT, "--policy FILE is missing");
	if (o.subnet.bits != 0 && o.netns[0] == '\0')
		return err_set(e, ERR_INPUT, "--subnet takes --netns");
	if (o.address.family == 0 && o.netns[0] != '\0') {
		(void)address_parse(PLACE_ADDRESS, &o.address);
		if (o.subnet.bits != 0)
			o.address = cidr_first(&o.subnet);
		o.port = PLACE_PORT;
	}
	if (!o.help && o.address.family == 0)
		return err_set(e, ERR_INPUT, "--listen ADDR:PORT is missing");
	*ret_o = o;
	return 0;
}

/* -- help ------------------------------------------------------------------ */

/* In lines of at most 80 columns, indented. */
static void
print_text(FILE *to, const char *text)
{
	const size_t width = 80 - 8;

	while (*text != '\0') {
		size_t size = strlen(text);

		if (size > width)
			for (size = width; size > 1 && text[size] != ' ';
			     size--)
				;
		(void)fprintf(to, "\t%.*s\n", (int)size, text);
		text += size;
		text += strspn(text, " ");
	}
}

void
options_help(FILE *to)
{
	for (size_t i = 0; i < row_count; i++) {
		const struct option *row = &rows[i];

		(void)fprintf(to, "  --%s%s%s", row->name,
		    row->argument != NULL ? " " : "",
		    row->argument != NULL ? row->argument : "");
		if (row->read == read_limit)
			(void)fprintf(to, "  (%lld; %lld to %lld)",
			    (long long)row->standard, (long long)row->least,
			    (long long)row->most);
		(void)fputc('\n', to);
		print_text(to, row->text);
	}
}
