/*
 * shown_rows.c
 *		Some of the rows that differ, by their keys, as they are shown.
 */
#include "base/fe_compat.h"

#include "mb/pg_wchar.h"
#include "pqexpbuffer.h"

#include "compare/shown_rows.h"
#include "compare/sink_rows.h"

/* Of a table without a key so many columns are shown. */
#define SHOWN_COLUMNS 4

/* Whole characters, as many as there is room for. */
static void
append_cut(int encoding, PQExpBuffer buf, const char *text, size_t len)
{
	size_t		room = SHOWN_BYTES / 4;
	size_t		used = 0;

	while (used < len && text[used])
	{
		int			more = pg_encoding_mblen(encoding, text + used);

		if (used + more > Min(len, room))
			break;
		used += more;
	}
	appendBinaryPQExpBuffer(buf, text, used);
	if (used < len)
		appendPQExpBufferStr(buf, "...");
}

void
shown_rows_describe(const CompareTable *table, const DumpTable *first,
					int encoding, const char *row, size_t row_len,
					char text[SHOWN_BYTES])
{
	int			n = table->n_key > 0 ? table->n_key :
		Min(first->n_columns, SHOWN_COLUMNS);
	PQExpBufferData buf;

	initPQExpBuffer(&buf);
	for (int i = 0; i < n; i++)
	{
		size_t		len;
		const char *field = sink_rows_field(row, row_len, table->n_key > 0 ?
											table->key_columns[i] : i, &len);
		size_t		before = buf.len;

		appendPQExpBuffer(&buf, "%s%s=", i > 0 ? ", " : "",
						  table->n_key > 0 ? table->key[i] : first->columns[i]);
		if (len == 2 && memcmp(field, "\\N", 2) == 0)
			appendPQExpBufferStr(&buf, "NULL");
		else
			append_cut(encoding, &buf, field, len);
		if (buf.len >= SHOWN_BYTES - 4)
		{
			buf.len = before;
			buf.data[before] = '\0';
			appendPQExpBufferStr(&buf, ", ...");
			break;
		}
	}
	strlcpy(text, buf.data, SHOWN_BYTES);
	termPQExpBuffer(&buf);
}

/* Numbers by their size: shorter ones are less, as all begin alike. */
static int
compare_texts(const char *a, const char *b)
{
	size_t		same = 0;
	size_t		digits_a;
	size_t		digits_b;

	while (a[same] && a[same] == b[same])
		same++;
	while (same > 0 && a[same - 1] >= '0' && a[same - 1] <= '9')
		same--;
	digits_a = strspn(a + same, "0123456789");
	digits_b = strspn(b + same, "0123456789");
	if (digits_a > 0 && digits_b > 0 && digits_a != digits_b)
		return digits_a < digits_b ? -1 : 1;
	return strcmp(a, b);
}

void
shown_rows_keep(ShownRows *shown, RowKind kind, const char *text)
{
	int			n = shown->n[kind];
	int			place = n;

	while (place > 0 && compare_texts(text, shown->text[kind][place - 1]) < 0)
		place--;
	if (place > 0 && strcmp(text, shown->text[kind][place - 1]) == 0)
		return;
	if (place == SHOWN_ROWS)
		return;
	n = Min(n, SHOWN_ROWS - 1);
	memmove(shown->text[kind][place + 1], shown->text[kind][place],
			(n - place) * SHOWN_BYTES);
	strlcpy(shown->text[kind][place], text, SHOWN_BYTES);
	shown->n[kind] = n + 1;
}
