/*
 * test_identifier.c
 *		Lists of identifiers, with all that quotes may hold.
 */
#include "base/fe_compat.h"

#include "base/identifier.h"
#include "unit_test.h"

/* Taken apart, into this many, and put together again. */
static void
check_list(const char *list, int expected_n, const char *expected)
{
	int			n;
	char	  **identifiers = identifier_split(list, strlen(list), &n);

	is_number(n, expected_n, list);
	is_text(identifier_join(identifiers, n), expected, list);
}

void
test_identifier(void)
{
	int			n;

	check_list("", 0, "");
	check_list("a", 1, "a");
	check_list("a, b,c", 3, "a, b, c");
	check_list("\"a, b\", c", 2, "\"a, b\", c");
	check_list("\"a\"\", b\", c", 2, "\"a\"\", b\", c");
	is_text(identifier_split("a, b) x", 4, &n)[1], "b", "the list ends where it is said to");
	is_text(identifier_skip("\"a.\"\".b\".c", '.'), ".c", "a point that is in no quotes");
	is_text(identifier_skip("\"a.b\"", '.'), "", "there is none");
	is_text(identifier_unquote("a"), "a", "without quotes");
	is_text(identifier_unquote("\"a\"\"b\""), "a\"b", "with quotes in quotes");
	is_text(identifier_unquote("\"\"\"\""), "\"", "a quote");
}
