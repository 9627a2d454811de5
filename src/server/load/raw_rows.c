/*-------------------------------------------------------------------------
 *
 * raw_rows.c
 *	  Takes blocks of raw tuples apart without believing their lengths.
 *
 * What passes here can be read by heap_deform_tuple() and detoasted, with no
 * access to any memory or table but the tuple's own.  Within values the
 * functions of their types believe what they find, as everywhere.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/toast_compression.h"
#include "utils/memutils.h"

#include "bytes/stored_size.h"
#include "heap/tuple_deform.h"
#include "load/raw_rows.h"

struct RawRows
{
	TupleDesc	tupdesc;		/* borrowed */
	TupleDeformer *deformer;
	int			n_varlena;
	int		   *varlena;		/* attributes of varying length, indexes */
	int			n_names;
	int		   *names;			/* those of type name */

	const char *start;			/* of the frames */
	const char *place;
	const char *end;
	uint32		n_rows;
	uint32		number;			/* of the current row */

	Datum	   *values;
	bool	   *isnull;
	int		   *external;
};

RawRows *
raw_rows_new(TupleDesc tupdesc, const RawBlock *block)
{
	RawRows    *rows = palloc0(sizeof(RawRows));
	int			natts = tupdesc->natts;

	rows->tupdesc = tupdesc;
	rows->deformer = tuple_deformer_new(tupdesc, natts);
	rows->varlena = palloc(sizeof(int) * (natts + 1));
	rows->names = palloc(sizeof(int) * (natts + 1));
	for (int i = 0; i < natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(tupdesc, i);

		if (att->attlen == -1)
			rows->varlena[rows->n_varlena++] = i;
		else if (att->attlen == NAMEDATALEN)
			rows->names[rows->n_names++] = i;
	}
	rows->start = rows->place = block->frames;
	rows->end = block->frames + block->frame_bytes;
	rows->n_rows = block->n_rows;
	rows->values = palloc(sizeof(Datum) * (natts + 1));
	rows->isnull = palloc(sizeof(bool) * (natts + 1));
	rows->external = palloc(sizeof(int) * (natts + 1));
	return rows;
}

static pg_noinline void
invalid_row(const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
			 errmsg("invalid raw tuple"),
			 errdetail("%s", detail)));
}

/* ----------
 * The tuple
 * ----------
 */

/* The flags and the length of the next frame. */
static uint32
next_word(RawRows *rows)
{
	uint32		word;

	if (rows->end - rows->place < sizeof(word))
		invalid_row("The block ends before the row.");
	memcpy(&word, rows->place, sizeof(word));
	rows->place += sizeof(word);
	if ((word & RAW_TUPLE_BYTES) > rows->end - rows->place)
		invalid_row("The row is longer than the block.");
	return word;
}

/* Make a tuple of the bytes of a frame that begins with this word. */
static HeapTuple
take_tuple(RawRows *rows, uint32 word)
{
	bool		has_nulls = (word & RAW_HAS_NULLS) != 0;
	Size		bytes = word & RAW_TUPLE_BYTES;
	Size		start = raw_tuple_start(has_nulls);
	Size		hoff = SizeofHeapTupleHeader;
	HeapTuple	tuple;
	HeapTupleHeader header;

	if (has_nulls)
		hoff += BITMAPLEN(rows->tupdesc->natts);
	hoff = MAXALIGN(hoff);
	if (start + bytes < hoff)
		invalid_row("It is shorter than its null bitmap.");

	tuple = palloc(HEAPTUPLESIZE + start + bytes);
	header = (HeapTupleHeader) ((char *) tuple + HEAPTUPLESIZE);
	memset(header, 0, start);
	memcpy((char *) header + start, rows->place, bytes);
	rows->place += bytes;
	HeapTupleHeaderSetNatts(header, rows->tupdesc->natts);
	header->t_infomask = (has_nulls ? HEAP_HASNULL : 0) |
		(word & RAW_HAS_VARWIDTH ? HEAP_HASVARWIDTH : 0) |
		(word & RAW_HAS_EXTERNAL ? HEAP_HASEXTERNAL : 0);
	header->t_hoff = hoff;
	ItemPointerSetInvalid(&header->t_ctid);

	tuple->t_data = header;
	tuple->t_len = start + bytes;
	ItemPointerSetInvalid(&tuple->t_self);
	tuple->t_tableOid = InvalidOid;
	return tuple;
}

/* ----------
 * Its values
 * ----------
 */

/*
 * A compressed value is what the server's functions make: by a method that is
 * known and built in, and shorter than before (toast_compress_datum); a
 * pointer to it could not tell else that it is compressed.
 */
static void
check_compressed(const struct varlena *value)
{
	Size		stored = VARSIZE(value) - VARHDRSZ;
	Size		plain = VARDATA_COMPRESSED_GET_EXTSIZE(value);

	switch (VARDATA_COMPRESSED_GET_COMPRESS_METHOD(value))
	{
		case TOAST_PGLZ_COMPRESSION_ID:
			break;
#ifdef USE_LZ4
		case TOAST_LZ4_COMPRESSION_ID:
			break;
#endif
		default:
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("compression method of a raw tuple's value is not supported by this server")));
	}
	if (plain <= stored || plain + VARHDRSZ > MaxAllocSize)
		invalid_row("A compressed value has an impossible length.");
}

/* A pointer must be blank, and the value be there that it stands for. */
static struct varlena *
take_external(RawRows *rows, const struct varlena *pointer)
{
	static const struct varatt_external blank;
	Size		offset = MAXALIGN(rows->place - rows->start);
	const char *value = rows->start + offset;
	Size		size;

	if (memcmp(VARDATA_EXTERNAL(pointer), &blank, sizeof(blank)) != 0)
		invalid_row("A value points out of the block.");
	if (offset >= rows->end - rows->start || VARATT_IS_1B(value))
		invalid_row("A value out of line is not there.");
	size = stored_varlena_size(value, rows->end);
	if (size == 0)
		invalid_row("A value out of line is longer than the block.");
	rows->place = value + size;
	return (struct varlena *) value;
}

/* Look at the values of varying length, and take those out of line. */
static int
check_varlena(RawRows *rows, bool may_be_external)
{
	int			n_external = 0;

	for (int i = 0; i < rows->n_varlena; i++)
	{
		int			att = rows->varlena[i];
		struct varlena *value = (struct varlena *) DatumGetPointer(rows->values[att]);

		if (rows->isnull[att])
			continue;
		if (unlikely(VARATT_IS_EXTERNAL(value)))
		{
			if (!may_be_external)
				invalid_row("A value is out of line in a row that has none.");
			value = take_external(rows, value);
			rows->values[att] = PointerGetDatum(value);
			rows->external[n_external++] = att;
		}
		if (unlikely(VARATT_IS_COMPRESSED(value)))
			check_compressed(value);
	}
	if (may_be_external && n_external == 0)
		invalid_row("No value is out of line in a row that has one.");
	return n_external;
}

/* Has any attribute a value of varying length? */
static bool
has_varlena(const RawRows *rows)
{
	for (int i = 0; i < rows->n_varlena; i++)
	{
		if (!rows->isnull[rows->varlena[i]])
			return true;
	}
	return false;
}

/* Names are read up to their end, which must be there. */
static void
check_names(const RawRows *rows)
{
	for (int i = 0; i < rows->n_names; i++)
	{
		int			att = rows->names[i];

		if (!rows->isnull[att] &&
			memchr(DatumGetPointer(rows->values[att]), '\0', NAMEDATALEN) == NULL)
			invalid_row("A name has no end.");
	}
}

bool
raw_rows_next(RawRows *rows, RawRow *row)
{
	uint32		word;

	if (rows->number == rows->n_rows)
	{
		if (rows->place != rows->end)
			invalid_row("The block continues after the last row.");
		return false;
	}
	rows->number++;
	word = next_word(rows);
	row->tuple = take_tuple(rows, word);
	if (tuple_deform(rows->deformer, row->tuple, rows->values,
					 rows->isnull) != row->tuple->t_len)
		invalid_row("The lengths of its values are not that of the row.");
	row->n_external = check_varlena(rows, (word & RAW_HAS_EXTERNAL) != 0);
	check_names(rows);
	/* else the server would take all attributes for ones of fixed width */
	if ((word & RAW_HAS_VARWIDTH) == 0 && has_varlena(rows))
		invalid_row("It has values of varying width, and does not say so.");
	row->values = rows->values;
	row->isnull = rows->isnull;
	row->external = rows->external;
	return true;
}

uint32
raw_rows_number(const RawRows *rows)
{
	return rows->number;
}
