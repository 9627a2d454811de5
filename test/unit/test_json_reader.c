/*
 * test_json_reader.c
 *		Reads what is JSON, refuses what is not, and after the first error
 *		ends every loop of its caller.
 */
#include "base/fe_compat.h"

#include "base/json_reader.h"
#include "unit_test.h"

/* Is this text one JSON value? */
static bool
is_json(const char *text)
{
	JsonReader	reader;

	json_begin(&reader, text, strlen(text));
	json_skip(&reader);
	json_finish(&reader);
	return reader.error == NULL;
}

static void
check_string(const char *text, const char *expected)
{
	JsonReader	reader;
	char	   *found;

	json_begin(&reader, text, strlen(text));
	found = json_string(&reader);
	json_finish(&reader);
	is_text(reader.error ? "error" : found, expected, text);
	free(found);
}

static void
check_number(const char *text, bool is_valid, uint64 expected)
{
	JsonReader	reader;
	uint64		found;

	json_begin(&reader, text, strlen(text));
	found = json_number(&reader);
	json_finish(&reader);
	ok(is_valid ? reader.error == NULL && found == expected : reader.error != NULL,
	   text);
}

/* An object of arrays, read as the manifest's reader does. */
static void
check_walk(void)
{
	static const char text[] = " { \"a\" : [ 1 , 2 ] , \"b\" : [ ] } ";
	JsonReader	reader;
	bool		first = true;
	uint64		sum = 0;
	int			members = 0;

	json_begin(&reader, text, strlen(text));
	json_enter(&reader, '{');
	while (json_more(&reader, '}', &first))
	{
		bool		first_element = true;

		free(json_key(&reader));
		members++;
		json_enter(&reader, '[');
		while (json_more(&reader, ']', &first_element))
			sum += json_number(&reader);
	}
	json_finish(&reader);
	is_text(reader.error, NULL, "an object of arrays");
	is_number(members, 2, "its members");
	is_number(sum, 3, "its numbers");
}

static void
check_error_ends_all(void)
{
	JsonReader	reader;
	bool		first = true;
	int			steps = 0;

	json_begin(&reader, "[1, x, 2]", 9);
	json_enter(&reader, '[');
	while (json_more(&reader, ']', &first))
	{
		(void) json_number(&reader);
		steps++;
	}
	is_number(steps, 2, "an error ends the loop");
	ok(json_string(&reader) == NULL, "no string after an error");
	is_number(json_number(&reader), 0, "no number after an error");
	ok(reader.error != NULL, "the error stays");
}

/* Arrays in arrays, so many. */
static bool
depth_is_read(int depth)
{
	char	   *text = pg_malloc0(2 * depth + 1);
	bool		result;

	memset(text, '[', depth);
	memset(text + depth, ']', depth);
	result = is_json(text);
	free(text);
	return result;
}

void
test_json_reader(void)
{
	static const char *const valid[] = {
		"null", "true", "false", "0", "-1", "1.5e-3", "\"\"", "[]", "{}",
		" [ 1 , \"a\" , { \"b\" : null } ] ",
	};
	static const char *const invalid[] = {
		"", "nul", "tru", "[", "[1", "[1,]", "[,1]", "{\"a\"}", "{\"a\":}",
		"{\"a\":1,}", "{a:1}", "\"a", "\"\\x\"", "\"\\u12\"", "1 2", "[1]]",
		"\"a\nb\"", "'a'",
	};

	for (int i = 0; i < (int) lengthof(valid); i++)
		ok(is_json(valid[i]), psprintf("valid: %s", valid[i]));
	for (int i = 0; i < (int) lengthof(invalid); i++)
		ok(!is_json(invalid[i]), psprintf("invalid: text %d", i));
	check_string("\"a\\\"\\\\\\/\\b\\f\\n\\r\\tz\"", "a\"\\/\b\f\n\r\tz");
	check_string("\"\\u00e4\\u20ac\\ud83d\\ude00\"",
				 "\303\244\342\202\254\360\237\230\200");
	check_string("null", NULL);
	check_string("\"\\u0000\"", "error");
	check_string("\"\\ud83d\"", "error");
	check_number("0", true, 0);
	check_number("null", true, 0);
	check_number("18446744073709551615", true, PG_UINT64_MAX);
	check_number("18446744073709551616", false, 0);
	check_number("-1", false, 0);
	check_number("1.5", false, 0);
	check_walk();
	check_error_ends_all();
	ok(depth_is_read(10), "some depth");
	ok(!depth_is_read(1000000), "a depth that would need all stack");
}
