/*
 * fuzz_raw.c
 *		The rows of a block of raw tuples: with any bytes, each value lies
 *		within the rows that were made from them, or it is an error.
 *
 * The first byte is the number of rows; the rest are frames
 * (read/raw_block.h).
 */
#include "postgres.h"

#include <setjmp.h>

#include "access/htup_details.h"
#include "access/tupdesc.h"

#include "load/raw_loader.h"
#include "fuzz_memory.h"

/* ----------
 * The server's, for what is outside of it
 * ----------
 */

static jmp_buf on_error;

bool
errstart(int elevel, const char *domain)
{
	return true;
}

bool
errstart_cold(int elevel, const char *domain)
{
	return true;
}

void
errfinish(const char *filename, int lineno, const char *funcname)
{
	longjmp(on_error, 1);
}

int
errcode(int sqlerrcode)
{
	return 0;
}

int
errmsg(const char *fmt,...)
{
	return 0;
}

int
errdetail(const char *fmt,...)
{
	return 0;
}

/* Tuples have all attributes. */
Datum
getmissingattr(TupleDesc tupleDesc, int attnum, bool *isnull)
{
	abort();
}

/* ---------- */

static const struct
{
	int16		len;
	bool		byval;
	char		align;
}			columns[] = {
	{4, true, TYPALIGN_INT}, {-1, false, TYPALIGN_INT},
	{NAMEDATALEN, false, TYPALIGN_CHAR}, {1, true, TYPALIGN_CHAR},
	{8, true, TYPALIGN_DOUBLE}, {-1, false, TYPALIGN_DOUBLE},
	{16, false, TYPALIGN_CHAR}, {2, true, TYPALIGN_SHORT},
	{-1, false, TYPALIGN_INT}
};

static TupleDesc
describe_columns(void)
{
	int			n = lengthof(columns);
	TupleDesc	tupdesc = calloc(1, sizeof(struct TupleDescData) +
								 n * (sizeof(FormData_pg_attribute) + 64));

	tupdesc->natts = n;
	for (int i = 0; i < n; i++)
	{
		Form_pg_attribute att = TupleDescAttr(tupdesc, i);

		att->attlen = columns[i].len;
		att->attbyval = columns[i].byval;
		att->attalign = columns[i].align;
	}
	return tupdesc;
}

/* Look at all bytes of a value. */
static void
look_at(Datum value, int column)
{
	const char *bytes = DatumGetPointer(value);
	Size		size = columns[column].len;
	volatile char seen;

	if (columns[column].byval)
		return;
	if (columns[column].len == -1)
	{
		/* nothing points out of the block */
		if (VARATT_IS_EXTERNAL(bytes))
			abort();
		size = VARSIZE_ANY(bytes);
	}
	for (Size i = 0; i < size; i++)
		seen = bytes[i];
}

static void
look_at_row(const RawRow *row)
{
	HeapTuple	tuple = row->tuple;

	if (tuple->t_data->t_hoff > tuple->t_len)
		abort();
	for (int i = 0; i < lengthof(columns); i++)
	{
		bool		isnull = HeapTupleHasNulls(tuple) &&
			att_isnull(i, tuple->t_data->t_bits);

		if (isnull != row->isnull[i])
			abort();
		if (!isnull)
			look_at(row->values[i], i);
		if (!isnull && columns[i].len == -1 && !HeapTupleHasVarWidth(tuple))
			abort();
	}
}

int
LLVMFuzzerTestOneInput(const uint8 *data, size_t size)
{
	static TupleDesc tupdesc = NULL;
	char	   *volatile frames;
	RawBlock	block;
	RawRows    *rows;
	const RawRow *row;

	if (size < 1)
		return 0;
	if (tupdesc == NULL)
		tupdesc = describe_columns();
	/* of just that size, for the sanitizer to know its end */
	frames = malloc(size - 1);
	memcpy(frames, data + 1, size - 1);
	block.frames = frames;
	block.frame_bytes = size - 1;
	block.n_rows = data[0];
	if (setjmp(on_error) == 0)
	{
		rows = raw_rows_new(tupdesc, &block);
		while ((row = raw_rows_next(rows)) != NULL)
			look_at_row(row);
	}
	free(frames);
	free_all();
	return 0;
}
