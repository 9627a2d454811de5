/*
 * test_globals_script.c
 *		The script of pg_dumpall is split into statements, also with quotes.
 */
#include "base/fe_compat.h"

#include "cluster/globals.h"
#include "unit_test.h"

static void
test_statements(void)
{
	GlobalsScript *script =
		globals_script_parse("--\n-- Roles; not one\n--\n\n\\restrict abc\n\n"
							 "SET client_encoding = 'UTF8';\n"
							 "CREATE ROLE \"a;\"\"b\";\nALTER ROLE \"a;\"\"b\" WITH PASSWORD 'x'';\n--y';\n"
							 "COMMENT ON ROLE r IS E'c\\\\''; -- no comment';  GRANT r -- a comment; 'it\n TO s;\n"
							 "\\unrestrict abc\n-- the end");

	is_number(script->n, 5, "all statements, and no more");
	is_text(script->statements[0], "SET client_encoding = 'UTF8'", "without what is before");
	is_text(script->statements[1], "CREATE ROLE \"a;\"\"b\"", "an identifier with a semicolon");
	is_text(script->statements[2], "ALTER ROLE \"a;\"\"b\" WITH PASSWORD 'x'';\n--y'",
			"a text with a quote, a semicolon and a newline");
	is_text(script->statements[3], "COMMENT ON ROLE r IS E'c\\\\''; -- no comment'",
			"a text with a backslash, as pg_dumpall writes it");
	is_text(script->statements[4], "GRANT r -- a comment; 'it\n TO s",
			"a comment within a statement");
	is_number(globals_script_parse("")->n, 0, "nothing");
	is_number(globals_script_parse("-- only this")->n, 0, "a comment alone");
}

static void
test_tablespaces(void)
{
	GlobalsScript *script =
		globals_script_parse("CREATE TABLESPACE s OWNER o LOCATION '/x';"
							 "CREATE ROLE \"TABLESPACE \";"
							 "REVOKE ALL ON TABLESPACE s FROM o;"
							 "COMMENT ON ROLE r IS 'TABLESPACE s';"
							 "ALTER TABLESPACE \"a b\" SET (seq_page_cost=2);");

	globals_script_drop_tablespaces(script);
	is_number(script->n, 2, "what is about tablespaces goes");
	is_text(script->statements[0], "CREATE ROLE \"TABLESPACE \"", "a role of that name stays");
	is_text(script->statements[1], "COMMENT ON ROLE r IS 'TABLESPACE s'", "and a text");
}

static void
parse(const void *text)
{
	(void) globals_script_parse(text);
}

#define SCRIPT_HINT \
	"unit_test: hint: Check the script, create roles and tablespaces with psql, and dump, copy or restore each database alone.\n"

static void
test_errors(void)
{
	static const char ends[] =
		"unit_test: error: could not read the script of roles and tablespaces\n"
		"unit_test: detail: It ends within a statement.\n"
		SCRIPT_HINT;

	child_ends(parse, "SELECT 1", 1, ends, "no semicolon");
	child_ends(parse, "SELECT ';", 1, ends, "an open text");
	child_ends(parse, "SELECT \"a;", 1, ends, "an open identifier");
	child_ends(parse, "SELECT 1 -- ;", 1, ends, "an end in a comment");
	child_ends(parse, "SELECT 1;\n\\! rm x\n", 1,
			   "unit_test: error: could not read the script of roles and tablespaces\n"
			   "unit_test: detail: It contains \"\\!\", which pg_dumpall does not write.\n"
			   SCRIPT_HINT,
			   "a command of psql");
	child_ends(parse, "\\restrictx\n;", 1,
			   "unit_test: error: could not read the script of roles and tablespaces\n"
			   "unit_test: detail: It contains \"\\restrictx\", which pg_dumpall does not write.\n"
			   SCRIPT_HINT,
			   "one that only begins like another");
}

static void
test_names(void)
{
	const char *pos = globals_script_after("CREATE ROLE \"a \"\"b\"\"\" WITH x", "CREATE ROLE");

	ok(pos != NULL, "the words are there");
	is_text(globals_script_name(&pos), "a \"b\"", "a quoted name");
	is_text(pos, " WITH x", "and what follows it");
	pos = "plain TO x";
	is_text(globals_script_name(&pos), "plain", "a plain one");
	is_text(pos, " TO x", "and what follows that");
	pos = "\"open";
	ok(globals_script_name(&pos) == NULL, "one that is not closed");
	pos = "";
	ok(globals_script_name(&pos) == NULL, "none");
	ok(globals_script_after("CREATE ROLES x", "CREATE ROLE") == NULL, "another word");
	ok(globals_script_after("CREATE ROLE", "CREATE ROLE") == NULL, "nothing follows");
}

void
test_globals_script(void)
{
	test_statements();
	test_tablespaces();
	test_errors();
	test_names();
}
