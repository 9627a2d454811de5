/*
 * test_identifier.c
 *		Lists of identifiers, as pg_dump writes them.
 */
#include "base/fe_compat.h"

#include "base/identifier.h"
#include "unit_test.h"

void
test_identifier(void)
{
	static const char list[] = "a, \"b,\"\"c)\", d) FROM stdin;";
	const char *end = identifier_skip(list, ')');
	int			n;
	char	  **columns = identifier_split(list, end - list, &n);

	is_text(end, ") FROM stdin;", "a list ends where no quotes are");
	is_number(n, 3, "identifiers of a list");
	is_text(columns[1], "\"b,\"\"c)\"", "one of them as it stands");
	is_text(identifier_unquote(columns[1]), "b,\"c)", "without its quotes");
	is_text(identifier_unquote(columns[2]), "d", "that has none");
	is_text(identifier_join(columns, n), "a, \"b,\"\"c)\", d", "put together");
	(void) identifier_split("", 0, &n);
	is_number(n, 0, "nothing");
	is_text(identifier_join(NULL, 0), "", "of nothing");
	is_text(identifier_skip("\"a:b\".c:d", ':'), ":d", "a colon in quotes");
}
