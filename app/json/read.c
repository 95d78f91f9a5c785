/* Typed reads from jansson. */
#include "json/read.h"
#include "lib/str.h"

#include <math.h>
#include <string.h>

#define NAME_SHOWN 64

/* Jansson recurses once a level; bound it before it does. */
static bool
too_deep(const char *bytes, size_t size)
{
	bool quoted = false;
	int depth = 0;

	for (size_t i = 0; i < size; i++) {
		char c = bytes[i];

		if (quoted && c == '\\')
			i++;
		else if (c == '"')
			quoted = !quoted;
		else if (!quoted && (c == '{' || c == '['))
			depth++;
		else if (!quoted && (c == '}' || c == ']'))
			depth--;
		if (depth > READ_DEPTH)
			return true;
	}
	return false;
}

static size_t
back_over(const char *bytes, size_t end, const char *letters)
{
	while (end > 0 && strchr(letters, bytes[end - 1]) != NULL)
		end--;
	return end;
}

/* The name of the member whose number ends at end, as in "ttlSec":1e400. Of 0
 * bytes where it stands in an array, or its name is not a plain one. */
static size_t
name_before(const char *bytes, size_t end, const char **ret_name)
{
	static const char blanks[] = " \t\r\n";
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz_0123456789"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

	*ret_name = "";
	end = back_over(bytes, end, "0123456789+-.eE");
	end = back_over(bytes, end, blanks);
	if (end == 0 || bytes[--end] != ':')
		return 0;
	end = back_over(bytes, end, blanks);
	if (end == 0 || bytes[--end] != '"')
		return 0;
	size_t start = back_over(bytes, end, letters);
	if (start < 2 || bytes[start - 1] != '"' || bytes[start - 2] == '\\' ||
	    end - start > NAME_SHOWN)
		return 0;
	*ret_name = bytes + start;
	return end - start;
}

static void
explain(const json_error_t *why, const char *bytes, size_t size, struct err *e)
{
	enum json_error_code code = json_error_code(why);
	size_t end = (size_t)why->position;
	const char *name;

	if (code == json_error_numeric_overflow) {
		size = name_before(bytes, end < size ? end : size, &name);
		(void)err_set(e, ERR_JSON,
		    "Body must be JSON; the number%s%.*s at line %d, column %d "
		    "is out of range: whole numbers go from %lld to %lld, "
		    "others to about 1.8e308.",
		    size > 0 ? " of " : "", (int)size, name, why->line,
		    why->column, (long long)INT64_MIN, (long long)INT64_MAX);
	} else if (code == json_error_null_byte_in_key) {
		(void)err_set(e, ERR_JSON,
		    "Body must be JSON; the name at line %d, column %d must "
		    "not contain a NUL character.",
		    why->line, why->column);
	} else {
		(void)err_set(e, ERR_JSON, "Body must be JSON.");
	}
}

json_t *
read_object(const char *bytes, size_t size, struct err *e)
{
	json_error_t why;

	if (strspn(bytes, " \t\r\n") == size)
		return json_object();
	if (too_deep(bytes, size)) {
		(void)err_set(e, ERR_JSON,
		    "Body must be JSON nested at most %d deep.", READ_DEPTH);
		return NULL;
	}
	json_t *o = json_loadb(bytes, size, JSON_ALLOW_NUL, &why);
	if (o == NULL) {
		explain(&why, bytes, size, e);
		return NULL;
	}
	if (!json_is_object(o)) {
		json_decref(o);
		(void)err_set(e, ERR_JSON, "Body must be JSON.");
		return NULL;
	}
	return o;
}

static int
wrong_type(const char *name, const char *wanted, struct err *e)
{
	return err_set(e, ERR_INPUT, "%s must be %s.", name, wanted);
}

int
read_bytes(const json_t *o, const char *name, const char **ret,
    size_t *ret_size, struct err *e)
{
	const json_t *v = json_object_get(o, name);

	*ret = NULL;
	*ret_size = 0;
	if (v == NULL || json_is_null(v))
		return 0;
	if (!json_is_string(v))
		return wrong_type(name, "a string", e);
	if (json_string_length(v) > 0) {
		*ret = json_string_value(v);
		*ret_size = json_string_length(v);
	}
	return 0;
}

int
read_string(const json_t *o, const char *name, const char **ret, struct err *e)
{
	size_t size;

	if (read_bytes(o, name, ret, &size, e) != 0)
		return -1;
	if (*ret != NULL && strlen(*ret) != size)
		return err_set(
		    e, ERR_INPUT, "%s must not contain a NUL character.", name);
	return 0;
}

int
read_int(const json_t *o, const char *name, int64_t min, int64_t max,
    int64_t def, int64_t *ret, struct err *e)
{
	const json_t *v = json_object_get(o, name);

	*ret = def;
	if (v == NULL || json_is_null(v))
		return 0;
	if (!json_is_integer(v))
		return wrong_type(name, "a whole number", e);
	int64_t value = json_integer_value(v);
	if (value == 0)
		return 0;
	if (value < min || value > max)
		return err_set(e, ERR_INPUT,
		    "%s is %lld; it must be from %lld to %lld.", name,
		    (long long)value, (long long)min, (long long)max);
	*ret = value;
	return 0;
}

int
read_real(const json_t *o, const char *name, double min, double max, double def,
    double *ret, struct err *e)
{
	const json_t *v = json_object_get(o, name);

	*ret = def;
	if (v == NULL || json_is_null(v))
		return 0;
	if (!json_is_number(v))
		return wrong_type(name, "a number", e);
	double value = json_number_value(v);
	if (fpclassify(value) == FP_ZERO)
		return 0;
	if (!(value >= min && value <= max))
		return err_set(e, ERR_INPUT,
		    "%s is %.9g; it must be from %.9g to %.9g.", name, value,
		    min, max);
	*ret = value;
	return 0;
}

int
read_bool(const json_t *o, const char *name, bool *ret, struct err *e)
{
	const json_t *v = json_object_get(o, name);

	*ret = false;
	if (v == NULL || json_is_null(v))
		return 0;
	if (!json_is_boolean(v))
		return wrong_type(name, "true or false", e);
	*ret = json_is_true(v);
	return 0;
}

int
read_member(const json_t *o, const char *name, json_type type, json_t **ret,
    struct err *e)
{
	json_t *v = json_object_get(o, name);

	*ret = NULL;
	if (v == NULL || json_is_null(v))
		return 0;
	if (json_typeof(v) != type)
		return wrong_type(
		    name, type == JSON_OBJECT ? "an object" : "an array", e);
	if ((type == JSON_OBJECT ? json_object_size(v) : json_array_size(v)) >
	    0)
		*ret = v;
	return 0;
}

static int
shown(const char *key)
{
	size_t size = strcspn(key, "=");

	if (size > 64)
		for (size = 64; size > 0 && (key[size] & 0xc0) == 0x80;)
			size--;
	return (int)size;
}

/* One variable. Of what is no name no more is shown than it may have of one:
 * behind a '=' there may be a value. */
static int
check_variable(const char *name, const char *key, const json_t *value,
    const struct read_env_rule *rule, struct err *e)
{
	if (!str_is_name(key))
		return err_set(e, ERR_INPUT,
		    "%s has the name \"%.*s\", which is not "
		    "[A-Za-z_][A-Za-z0-9_]*.",
		    name, shown(key), key);
	if (!json_is_string(value))
		return err_set(
		    e, ERR_INPUT, "%s.%.64s must be a string.", name, key);
	const char *text = json_string_value(value);
	if (strlen(text) != json_string_length(value))
		return err_set(e, ERR_INPUT,
		    "%s.%.64s must not contain a NUL character.", name, key);
	if (!rule->line_breaks && strpbrk(text, "\r\n") != NULL)
		return err_set(e, ERR_INPUT,
		    "%s.%.64s must not contain a line break.", name, key);
	return 0;
}

int
read_env(const json_t *o, const char *name, const struct read_env_rule *rule,
    struct arena *a, const char *const **ret_env, struct err *e)
{
	size_t count = 0, bytes = 0;
	json_t *object, *value;
	const char *key;

	if (read_member(o, name, JSON_OBJECT, &object, e) != 0)
		return -1;
	size_t size = object ? json_object_size(object) : 0;
	if (rule->most > 0 && size > rule->most)
		return err_set(e, ERR_INPUT,
		    "%s has %zu variables; it may have %zu at most.", name,
		    size, rule->most);
	const char **env = arena_alloc(a, (size + 1) * sizeof(*env));
	json_object_foreach(object, key, value)
	{
		if (check_variable(name, key, value, rule, e) != 0)
			return -1;
		const char *text = json_string_value(value);
		bytes += strlen(key) + strlen(text);
		env[count++] = arena_printf(a, "%s=%s", key, text);
	}
	if (rule->bytes > 0 && bytes > rule->bytes)
		return err_set(e, ERR_INPUT,
		    "%s has %zu bytes of names and values; it may have %zu at "
		    "most.",
		    name, bytes, rule->bytes);
	*ret_env = env;
	return 0;
}

int
read_strings(const json_t *o, const char *name, struct arena *a,
    const char *const **ret, struct err *e)
{
	json_t *array;

	*ret = NULL;
	if (read_member(o, name, JSON_ARRAY, &array, e) != 0)
		return -1;
	if (array == NULL)
		return 0;
	size_t count = json_array_size(array);
	const char **items = arena_alloc(a, (count + 1) * sizeof(*items));
	for (size_t i = 0; i < count; i++) {
		const json_t *v = json_array_get(array, i);

		if (!json_is_string(v) ||
		    strlen(json_string_value(v)) != json_string_length(v))
			return err_set(e, ERR_INPUT,
			    "%s[%zu] must be a string without NUL characters.",
			    name, i);
		items[i] = json_string_value(v);
	}
	*ret = items;
	return 0;
}
