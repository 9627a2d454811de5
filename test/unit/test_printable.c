/*
 * test_printable.c
 *		No name ends a line, or commands a terminal.
 */
#include "base/fe_compat.h"

#include "base/printable.h"
#include "unit_test.h"

void
test_printable(void)
{
	static const char plain[] = "sch\303\244ma.\"t\"";

	ok(printable(plain) == plain, "what is harmless is itself");
	is_text(printable("a\nb\tc\033[2J\177"), "a\\x0ab\\x09c\\x1b[2J\\x7f",
			"control characters");
	is_text(printable("\302\233K"), "\\xc2\\x9bK", "C1 in UTF-8");
	is_text(printable("\233K"), "\\x9bK", "C1 in LATIN1");
	is_text(printable("\344\xff"), "\344\xff", "LATIN1");
	is_text(printable("\303"), "\303", "half a character at the end");
	is_text(printable_message("one\ntwo\n\tthree\r"), "one\n\ttwo\n\tthree\\x0d",
			"lines after the first begin with one tab");
	is_text(printable_message("a\tb"), "a\tb", "a tab stays in a message");
}
