/*
 * test_json_text.c
 *		Any bytes become a JSON string, and are cut between characters.
 */
#include "base/fe_compat.h"

#include "base/json.h"
#include "unit_test.h"

static void
check(const char *text, size_t max_bytes, const char *expected, const char *what)
{
	PQExpBuffer buf = createPQExpBuffer();

	json_append_text(buf, text, max_bytes);
	is_text(buf->data, expected, what);
	destroyPQExpBuffer(buf);
}

void
test_json_text(void)
{
	check("", 0, "\"\"", "nothing");
	check("a\"\\/\b\f\n\r\t", 0, "\"a\\\"\\\\/\\b\\f\\n\\r\\t\"", "escapes");
	check("\001\037\177", 0, "\"\\u0001\\u001f\\u007f\"", "control characters");
	check("\303\244\342\202\254\360\237\230\200", 0,
		  "\"\303\244\342\202\254\360\237\230\200\"", "characters of UTF-8");
	check("\344x\303", 0, "\"\\u00e4x\\u00c3\"", "bytes that are none");
	check("\300\200\355\240\200", 0, "\"\\u00c0\\u0080\\u00ed\\u00a0\\u0080\"",
		  "overlong forms and surrogates");
	check("abcd", 4, "\"abcd\"", "just the limit");
	check("abcde", 4, "\"abcd\"", "beyond the limit");
	check("abc\303\244", 4, "\"abc\"", "not cut within a character");
	check("abc\n", 4, "\"abc\"", "not cut within an escape");
}
