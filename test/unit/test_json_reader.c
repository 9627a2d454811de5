/*
 * test_json_reader.c
 *		Reads what is JSON, refuses what is not, and after the first error
 *		ends every loop of its caller.  Structs come back from their JSON as
 *		they were; damage is refused with the name of the member.
 */
#include "base/fe_compat.h"

#include "base/json_fields.h"
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

/* Is an array read that is nested to this depth? */
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

/* ----------
 * Structs
 * ----------
 */
typedef struct Sample
{
	char	   *text;
	char	   *name;
	char	   *digits;
	uint8		bytes[2];
	int			n_bytes;
	int			number;
	int64		block;
	int64		time;
	int			word;
	bool		flag;
	char		letter;
	struct Sample *child;
	char	  **texts;
	int			n_texts;
	struct Sample *others;
	int			n_others;
} Sample;

static const char *const words[] = {"zero", "one", NULL};
static const JsonField text_element[] = {{"", JSON_TEXT, 0, JSON_REQUIRED,.max = 3}, {NULL}};
#define SAMPLE(name, kind, member) name, kind, offsetof(Sample, member)

static const JsonField sample_fields[] = {
	{"version", JSON_VERSION,.max = 7},
	{SAMPLE("text", JSON_TEXT, text), JSON_REQUIRED},
	{SAMPLE("name", JSON_NAME, name), JSON_SKIP_NULL},
	{SAMPLE("digits", JSON_DIGITS, digits), JSON_SKIP_NULL,.max = 2},
	{SAMPLE("bytes", JSON_BYTES, bytes), JSON_SKIP_NULL,.max = 2,.count = offsetof(Sample, n_bytes)},
	{SAMPLE("number", JSON_INT, number),.min = 1,.max = 9},
	{SAMPLE("block", JSON_BLOCK, block)},
	{SAMPLE("time", JSON_TIME, time)},
	{SAMPLE("word", JSON_WORD, word),.words = words},
	{SAMPLE("flag", JSON_BOOL, flag)},
	{SAMPLE("letter", JSON_CHAR, letter)},
	{SAMPLE("child", JSON_OBJECT, child), JSON_SKIP_NULL,.fields = sample_fields,.size = sizeof(Sample)},
	{SAMPLE("texts", JSON_ARRAY, texts), JSON_SKIP_NULL,.fields = text_element,.size = sizeof(char *),
	.count = offsetof(Sample, n_texts)},
	{SAMPLE("others", JSON_ARRAY, others), JSON_SKIP_NULL,.fields = sample_fields,.size = sizeof(Sample),
	.count = offsetof(Sample, n_others)},
	{NULL}
};

static void
check_struct(bool not_utf8)
{
	static char *texts[] = {"a", "\\x", "\xff"};
	Sample		other = {.text = "",.number = 1};
	Sample		sample = {.text = "\xff\"",.name = "\303\244",.digits = "00ff",.bytes = {1, 255},
	.n_bytes = 2,.number = 9,.block = -1,.time = INT64CONST(1790000000000001),.word = 1,
	.flag = true,.letter = 'r',.child = &other,.texts = texts,.n_texts = 3,
	.others = &other,.n_others = 1};
	JsonWriter	writer = {.not_utf8 = not_utf8};
	Sample		found = {0};
	JsonReader	reader;

	initPQExpBuffer(&writer.buf);
	json_append_object(&writer, sample_fields, &sample);
	json_read_document(&reader, writer.buf.data, writer.buf.len, sample_fields, &found);
	is_text(reader.error, NULL, "a struct is read");
	is_text(found.text, sample.text, "a text that is not UTF-8");
	is_text(found.name, sample.name, "a name");
	ok((strstr(writer.buf.data, "Encoded-name") != NULL) == not_utf8, "encoded or not");
	is_text(found.digits, sample.digits, "digits");
	ok(found.n_bytes == 2 && memcmp(found.bytes, sample.bytes, 2) == 0, "bytes");
	ok(found.number == 9 && found.block == -1 && found.word == 1 && found.flag && found.letter == 'r',
	   "numbers");
	ok(found.time == sample.time, "a time");
	is_number(found.n_texts, 3, "texts");
	for (int i = 0; i < found.n_texts; i++)
		is_text(found.texts[i], texts[i], "one of several texts");
	ok(found.child && found.child->number == 1, "a struct in it");
	ok(found.n_others == 1 && found.others[0].number == 1, "an array of structs");
	json_free_members(sample_fields, &found);
	termPQExpBuffer(&writer.buf);
}

static void
check_damage(const char *text, const char *expected)
{
	JsonReader	reader;
	Sample		found = {0};

	json_read_document(&reader, text, strlen(text), sample_fields, &found);
	is_text(reader.error, expected, text);
	json_free_members(sample_fields, &found);
}

static void
check_structs(void)
{
	check_struct(false);
	check_struct(true);
	check_damage("{\"text\": \"\", \"later\": [{}], \"block\": null}", NULL);
	check_damage("{}", "member \"text\" is missing");
	check_damage("{\"text\": null}", "member \"text\" is missing");
	check_damage("{\"text\": 1}", "member \"text\" is invalid");
	check_damage("{\"text\": \"\\\\x0\"}", "member \"text\" has an invalid encoded text");
	check_damage("{\"text\": \"\", \"text\": \"\"}", "member \"text\" is repeated");
	check_damage("{\"name\": \"\", \"Encoded-name\": \"\"}", "member \"name\" is repeated");
	check_damage("{\"Encoded-name\": \"00\"}", "member \"name\" has an invalid encoded text");
	check_damage("{\"Encoded-text\": \"00\"}", "member \"text\" is missing");
	check_damage("{\"version\": 8}", "the file has an unsupported version");
	check_damage("{\"digits\": \"0\"}", "member \"digits\" has invalid hexadecimal digits");
	check_damage("{\"digits\": \"000000\"}", "member \"digits\" is too long");
	check_damage("{\"bytes\": \"000000\"}", "member \"bytes\" is too long");
	check_damage("{\"number\": 0}", "member \"number\" is out of range");
	check_damage("{\"number\": 10}", "member \"number\" is out of range");
	check_damage("{\"number\": null}", "member \"number\" is invalid");
	check_damage("{\"flag\": 2}", "member \"flag\" is out of range");
	check_damage("{\"letter\": 256}", "member \"letter\" is out of range");
	check_damage("{\"time\": \"2026-01-01\"}", "member \"time\" has an invalid time");
	check_damage("{\"word\": \"two\"}", "member \"word\" has the unknown value \"two\"");
	check_damage("{\"word\": \"a\\nb\"}", "member \"word\" has an unknown value");
	check_damage("{\"word\": \"1234567890123456789012345678901234567890123456789012345678901\"}",
				 "member \"word\" has an unknown value");
	check_damage("{\"texts\": {}}", "member \"texts\" is invalid");
	check_damage("{\"texts\": [null]}", "member \"texts\" is missing");
	check_damage("{\"texts\": [\"long\"]}", "member \"texts\" is too long");
	check_damage("{\"child\": []}", "member \"child\" is invalid");
	check_damage("{\"others\": [{\"number\": 0}]}", "member \"number\" is out of range");
	check_damage("{\"text\": \"\xff\"}", "it is not UTF-8");
	check_damage("{\"text\": \"\"} 1", "its JSON contains text after the end");
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
	check_number("null", false, 0);
	check_number("18446744073709551615", true, PG_UINT64_MAX);
	check_number("18446744073709551616", false, 0);
	check_number("-1", false, 0);
	check_number("1.5", false, 0);
	check_walk();
	check_error_ends_all();
	check_structs();
	ok(depth_is_read(10), "some depth");
	ok(!depth_is_read(1000000), "a depth that would need all stack");
}
