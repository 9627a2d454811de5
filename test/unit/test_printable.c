/*
 * test_printable.c
 *		No name ends a line, or commands a terminal.
 */
#include "base/fe_compat.h"

#include <unistd.h>

#include "base/message.h"
#include "unit_test.h"

#ifdef __GLIBC__

/* As much as libpq writes at a time. */
#define PIECE_BYTES 1024

/* What is asked is there before it is answered. */
static void
say_and_ask(const void *arg)
{
	message_guard_begin();
	fprintf(stderr, "%s", (const char *) arg);
	fprintf(stderr, "one\n\033[2J");
	fprintf(stderr, "Password: ");
	_exit(0);
}

static void
test_guard(void)
{
	char		text[PIECE_BYTES + 16];
	char	   *shown;

	memset(text, 'x', sizeof(text));
	strcpy(text + PIECE_BYTES - 1, "\nforged\n");
	shown = psprintf("%.*s\n\tforged\none\n\t\\x1b[2JPassword: ",
					 PIECE_BYTES - 1, text);
	child_ends(say_and_ask, text, 0, shown, "what libraries write");
	free(shown);
}

#else

static void
test_guard(void)
{
}

#endif

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
	is_text(message_sentence("the server does not answer"),
			"The server does not answer.", "a cause as a sentence");
	is_text(message_sentence("FATAL:  one\n"), "FATAL:  one.",
			"a message of the server as a sentence");
	is_text(message_sentence("query failed: one\ntwo\n"),
			"Query failed: one\ntwo", "several lines without a period");
	is_text(message_sentence("It is a sentence."), "It is a sentence.",
			"a sentence as it is");
	is_text(message_sentence(""), "", "no cause");
	test_guard();
}
