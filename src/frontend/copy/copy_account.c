/*
 * copy_account.c
 *		In which formats a copy's tables went, and why.
 */
#include "base/fe_compat.h"

#include "pqexpbuffer.h"

#include "base/message.h"
#include "base/units.h"
#include "copy/copy_account.h"

/* Different reasons that are told of a format; columns are named in some. */
#define REASONS_SHOWN 3

/* The tables of a format, for a reason or, if that is NULL, for any. */
static int
count_tables(const Run *run, const CopyFormats *formats,
			 CopyFormatKind kind, const char *reason)
{
	int			n = 0;

	for (int i = 0; i < run->plan->tables->n_tables; i++)
	{
		const CopyFormat *format = &formats->tables[i];

		n += OidIsValid(format->target) && format->kind == kind &&
			(reason == NULL || strcmp(format->reason, reason) == 0);
	}
	return n;
}

/* The first reasons, in the order of tables, with their numbers of tables. */
static void
append_reasons(PQExpBuffer text, const Run *run,
			   const CopyFormats *formats, CopyFormatKind kind)
{
	const char *shown[REASONS_SHOWN];
	int			n_shown = 0;

	for (int i = 0; i < run->plan->tables->n_tables; i++)
	{
		const CopyFormat *format = &formats->tables[i];
		bool		is_new = format->kind == kind && format->reason != NULL;

		for (int j = 0; j < n_shown && is_new; j++)
			is_new = strcmp(format->reason, shown[j]) != 0;
		if (!is_new)
			continue;
		if (n_shown == REASONS_SHOWN)
		{
			appendPQExpBufferStr(text, ", and others");
			return;
		}
		shown[n_shown] = format->reason;
		appendPQExpBuffer(text, "%s%s (%d)", n_shown++ > 0 ? ", " : ": ",
						  printable(format->reason),
						  count_tables(run, formats, kind, format->reason));
	}
}

char *
copy_account_formats(const Run *run, const CopyFormats *formats)
{
	static const CopyFormatKind kinds[] = {
		COPY_FORMAT_RAW, COPY_FORMAT_BINARY, COPY_FORMAT_TEXT
	};
	static const char *const named[] = {"as text", "in binary format", "as raw tuples"};
	PQExpBufferData text;

	initPQExpBuffer(&text);
	for (int i = 0; i < (int) lengthof(kinds); i++)
	{
		int			n = count_tables(run, formats, kinds[i], NULL);

		if (n == 0)
			continue;
		appendPQExpBuffer(&text, "%s%d table%s %s", text.len > 0 ? "; " : "",
						  n, units_plural(n), named[kinds[i]]);
		append_reasons(&text, run, formats, kinds[i]);
	}
	if (text.len == 0)
		return NULL;
	return text.data;
}
