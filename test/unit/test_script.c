/*
 * test_script.c
 *		pg_restore's script is split at its marks, with any names in it.
 */
#include "base/fe_compat.h"

#include "stock/script.h"
#include "unit_test.h"

#define MARK "-- pg_pardump 00ff "
#define END "--\n-- PostgreSQL database dump complete\n--\n\n"

static TocEntry entries[3];

/* What is wrong with it; NULL if nothing is. */
static const char *
problem_of(const char *text)
{
	const char *problem;
	Script	   *script = script_cut(text, MARK, entries, 3, true, &problem);

	return script ? NULL : problem;
}

static Script *
cut(const char *text, bool std_strings)
{
	const char *problem;
	Script	   *script = script_cut(text, MARK, entries, 3, std_strings, &problem);

	ok(script != NULL, problem ? problem : "a script is cut");
	return script;
}

static void
test_order(void)
{
	Script	   *script = cut("--\n-- PostgreSQL database dump\n--\n\n\\restrict abc\n\n"
							 "SET statement_timeout = 0;\nSET client_encoding = 'UTF8';\n"
							 "SELECT pg_catalog.set_config('search_path', '', false);\n\n"
							 "SET default_tablespace = '';\n\n"
							 "--\n-- Name: t; Type: TABLE; Schema: s; Owner: o\n--\n\n"
							 MARK "2\n\n\nALTER TABLE s.t OWNER TO o;\n\n"
							 "SET default_tablespace = \"a;\n" MARK "1\n;\";\n\n"
							 MARK "0\n\n\n" END "\\unrestrict abc\n\n", true);

	is_number(script->n_head, 2, "the head, without what entries need");
	is_text(script->head[1], "SET client_encoding = 'UTF8';", "its last one");
	is_number(script->n_entries, 2, "a mark in a name is none");
	ok(script->entries[0].entry == &entries[2], "in the order of the script");
	ok(script->entries[1].entry == &entries[0], "and the next one");
	is_text(script->entries[0].settings[SCRIPT_TABLESPACE],
			"SET default_tablespace = '';", "what was set before");
	is_text(script->entries[1].settings[SCRIPT_TABLESPACE],
			"SET default_tablespace = \"a;\n" MARK "1\n;\";", "and after that");
	is_text(script->entries[1].settings[SCRIPT_SEARCH_PATH],
			"SELECT pg_catalog.set_config('search_path', '', false);",
			"what stays");
	ok(script->entries[0].settings[SCRIPT_SESSION_USER] == NULL,
	   "what was never set");
	is_number(script->entries[0].n_after, 1, "the owner");
	is_text(script->entries[0].after[0], "ALTER TABLE s.t OWNER TO o;",
			"as it is written");
	is_number(script->entries[1].n_after, 0, "no owner");
}

static void
test_quotes(void)
{
	Script	   *script = cut("SET SESSION AUTHORIZATION 'a\\';\n" MARK "0\n"
							 "ALTER TABLE \"x'\"\"; \\connect y\n-- z\" OWNER TO \"';\";\n" END,
							 true);

	is_text(script->entries[0].settings[SCRIPT_SESSION_USER],
			"SET SESSION AUTHORIZATION 'a\\';", "a backslash is one");
	is_text(script->entries[0].after[0],
			"ALTER TABLE \"x'\"\"; \\connect y\n-- z\" OWNER TO \"';\";",
			"quotes in quotes");
	script = cut("SET SESSION AUTHORIZATION 'a\\\\'';';\n" MARK "0\n" END, false);
	is_text(script->entries[0].settings[SCRIPT_SESSION_USER],
			"SET SESSION AUTHORIZATION 'a\\\\'';';", "two of them are one");
}

void
test_script(void)
{
	static const char *const unexpected = "it contains an unexpected statement";
	static const char *const psql = "it contains an unexpected psql command";
	static const char *const mark = "it contains an unexpected separator";
	static const char *const end = "its end is unexpected";

	test_order();
	test_quotes();
	ok(problem_of(END) == NULL, "nothing at all");
	is_text(problem_of(MARK "0\n"), end, "without an end");
	is_text(problem_of(""), end, "empty");
	is_text(problem_of(MARK "0\nALTER TABLE \"a;\n" END), end, "an open quote");
	is_text(problem_of(END "SET a = b;\n"), end, "more after the end");
	is_text(problem_of("\\restrict a\n" END), end, "psql is restricted for ever");
	is_text(problem_of(MARK "0\n" MARK "0\n" END), mark, "a mark twice");
	is_text(problem_of(MARK "3\n" END), mark, "a mark of no entry");
	is_text(problem_of(MARK "\n" END), mark, "a mark without a number");
	is_text(problem_of(MARK "1 \n" END), mark, "a mark with more");
	is_text(problem_of("DROP TABLE a;\n" END), unexpected, "in the head");
	is_text(problem_of("ALTER TABLE a;\n" END), unexpected, "of no entry");
	is_text(problem_of(MARK "0\nSET a = b;\n" END), unexpected, "a new setting");
	is_text(problem_of("\\connect a\n" END), psql, "another database");
	is_text(problem_of(MARK "0\n\\restrict a\n" END), psql, "too late");
	is_text(problem_of(MARK "0\n\\! ls\n" END), psql, "a shell");
}
