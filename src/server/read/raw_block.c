/*-------------------------------------------------------------------------
 *
 * raw_block.c
 *	  Writes and checks the headers of blocks of raw tuples, decompresses
 *	  blocks, and knows which types are portable.
 *
 * raw_block.h describes the format.  chunk_reader.c writes headers with this
 * file, and load/raw_loader.c opens blocks.
 *
 * The contents of a block are not trusted.  First, its header is compared,
 * field by field, with the one that this server would write for the table.
 * Then the lengths in the header are compared with the length of the block.
 * Only after that are the frames decompressed, into memory of the length that
 * the header contains.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <lz4frame.h>
#include <zstd.h>

#include "catalog/pg_attribute.h"
#include "catalog/pg_type.h"
#include "common/cryptohash.h"
#include "mb/pg_wchar.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "read/raw_block.h"

/* ----------
 * Decompresses the frames of a block.  Their length is known, so all of them
 * are decompressed in one call.
 * ----------
 */

static void
damaged_data(const char *method)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("could not decompress block of raw tuples"),
			 errdetail("Its %s data is damaged, or not as long as it says.",
					   method)));
}

/*
 * Decompress one frame of lz4, after which the data must end.  The loop ends
 * with the frame, or when the library makes no progress: the frame is
 * incomplete then, or contains more bytes than there is room for.
 */
static bool
decompress_lz4(LZ4F_dctx *lz4, const char *data, Size len, char *to,
			   Size raw_bytes)
{
	Size		taken = 0;
	Size		made = 0;
	size_t		more = 1;

	while (more > 0)
	{
		size_t		out = raw_bytes - made;
		size_t		in = len - taken;

		more = LZ4F_decompress(lz4, to + made, &out, data + taken, &in, NULL);
		if (LZ4F_isError(more) || (out == 0 && in == 0 && more > 0))
			return false;
		made += out;
		taken += in;
	}
	return made == raw_bytes && taken == len;
}

/*
 * Decompress "len" bytes into "raw_bytes" bytes, at most RAW_MAX_BYTES, that
 * are allocated in CurrentMemoryContext.  "method" is a CompressMethod other
 * than COMPRESS_NONE, or an invalid number, which is an error.  It is also an
 * error (XX001) if the data is damaged or has another length; no memory is
 * written beyond raw_bytes.
 */
static char *
raw_decompress(uint32 method, const char *data, Size len, Size raw_bytes)
{
	char	   *result;

	if (method != COMPRESS_LZ4 && method != COMPRESS_ZSTD)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("unknown compression of block of raw tuples")));
	result = palloc(raw_bytes + 1);
	if (method == COMPRESS_LZ4)
	{
		LZ4F_dctx  *lz4;
		bool		sound;

		/* its memory is malloc()ed, so it is freed before an error */
		if (LZ4F_isError(LZ4F_createDecompressionContext(&lz4, LZ4F_VERSION)))
			ereport(ERROR,
					(errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
		sound = decompress_lz4(lz4, data, len, result, raw_bytes);
		LZ4F_freeDecompressionContext(lz4);
		if (!sound)
			damaged_data("lz4");
	}
	else if (ZSTD_decompress(result, raw_bytes, data, len) != raw_bytes)
		damaged_data("zstd");
	return result;
}

/* ----------
 * Headers of blocks of raw tuples
 * ----------
 */

static const char raw_magic[8] = "PARDRAW\n";

#define RAW_BYTE_ORDER	0x01020304
#define RAW_VERSION		1

/*
 * The identity of a column: its name, by which a copy assigns columns, its
 * type and its modifier.  All portable types are built in, so each has the
 * same OID on every server.
 */
typedef struct ColumnIdentity
{
	NameData	name;
	int32		type;
	int32		modifier;
} ColumnIdentity;

/*
 * Compute the hash of all columns.  It must be a cryptographic one.  With a
 * checksum, names could be chosen such that columns of other types have the
 * same checksum, and values would be read as those of another type.
 */
static void
hash_identities(const ColumnIdentity *columns, Size bytes, uint8 *result)
{
	pg_cryptohash_ctx *hash = pg_cryptohash_create(PG_SHA224);
	bool		ok = hash != NULL && pg_cryptohash_init(hash) == 0 &&
		pg_cryptohash_update(hash, (const uint8 *) columns, bytes) == 0 &&
		pg_cryptohash_final(hash, result, PG_SHA224_DIGEST_LENGTH) == 0;

	pg_cryptohash_free(hash);
	if (!ok)
		elog(ERROR, "could not compute a hash of columns");
}

/*
 * Return the hash of columns.  As many blocks of a table follow each other,
 * the last hash is kept for the next call, together with its input.  The
 * input is compared, so the hash is right even if the table has changed.
 */
static void
hash_columns(TupleDesc columns, uint8 *result)
{
	static ColumnIdentity *last = NULL;
	static Size last_bytes = 0;
	static uint8 last_hash[PG_SHA224_DIGEST_LENGTH];
	Size		bytes = columns->natts * sizeof(ColumnIdentity);
	ColumnIdentity *all = palloc(bytes + 1);

	/* zeros follow the name in a NameData, so its bytes can be compared */
	for (int i = 0; i < columns->natts; i++)
	{
		Form_pg_attribute column = TupleDescAttr(columns, i);

		all[i].name = column->attname;
		all[i].type = (int32) column->atttypid;
		all[i].modifier = column->atttypmod;
	}
	if (last == NULL || bytes != last_bytes || memcmp(all, last, bytes) != 0)
	{
		/* nothing is kept if an error is raised below */
		if (last)
			pfree(last);
		last = NULL;
		hash_identities(all, bytes, last_hash);
		last = memcpy(MemoryContextAlloc(TopMemoryContext, bytes + 1), all,
					  bytes);
		last_bytes = bytes;
	}
	memcpy(result, last_hash, sizeof(last_hash));
	pfree(all);
}

/*
 * The header contains the properties of a server that determine the layout of
 * tuples: byte order, alignment, the size of a Datum, the length of a name,
 * and the encoding of texts.  The layout of the values themselves depends on
 * their types, and is the same on all servers for portable types.
 */
void
raw_block_header_init(RawBlockHeader *header, TupleDesc columns)
{
	StaticAssertStmt((sizeof(RawBlockHeader) + VARHDRSZ) % MAXIMUM_ALIGNOF == 0,
					 "frames are aligned");
	memset(header, 0, sizeof(RawBlockHeader));
	memcpy(header->magic, raw_magic, sizeof(raw_magic));
	header->byte_order = RAW_BYTE_ORDER;
	header->version = RAW_VERSION;
	header->max_align = MAXIMUM_ALIGNOF;
	header->datum_bytes = sizeof(Datum);
	header->name_bytes = NAMEDATALEN;
	header->encoding = GetDatabaseEncoding();
	header->n_columns = columns->natts;
	hash_columns(columns, header->columns);
}

static void
invalid_block(const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
			 errmsg("invalid block of raw tuples"),
			 errdetail("%s", detail)));
}

static void
other_server(const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("raw tuples were read from an incompatible server or database"),
			 errdetail("%s", detail)));
}

/* Raise an error unless the layout of tuples and the columns are the same. */
static void
check_layout(const RawBlockHeader *header, TupleDesc columns)
{
	RawBlockHeader own;

	if (memcmp(header->magic, raw_magic, sizeof(raw_magic)) != 0)
		invalid_block("It does not begin as one.");
	raw_block_header_init(&own, columns);
	if (header->byte_order != own.byte_order)
		other_server("The byte order is another one.");
	if (header->version != own.version)
		other_server("The version of the format is another one.");
	if (header->max_align != own.max_align ||
		header->datum_bytes != own.datum_bytes ||
		header->name_bytes != own.name_bytes)
		other_server("Tuples are laid out in another way.");
	if (header->encoding != own.encoding)
		other_server("The encoding of the database is another one.");
	if (header->n_columns != own.n_columns ||
		memcmp(header->columns, own.columns, sizeof(own.columns)) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("columns of raw tuples do not match the table")));
}

/*
 * The header is copied, as the block may be unaligned.  Frames without
 * compression are used in place if they are aligned, as the values in them
 * must be.
 */
void
raw_block_open(RawBlock *raw, bytea *block, TupleDesc columns)
{
	const char *data = VARDATA(block);
	Size		bytes = VARSIZE(block) - VARHDRSZ;
	RawBlockHeader header;

	if (bytes < sizeof(header))
		invalid_block("It is shorter than its header.");
	memcpy(&header, data, sizeof(header));
	check_layout(&header, columns);
	/* are the lengths in the header possible? */
	if (header.stored_bytes != bytes - sizeof(header))
		invalid_block("Its length is not the one that it names.");
	if (header.frame_bytes > RAW_MAX_BYTES)
		invalid_block("It is too long.");
	if (header.n_rows > header.frame_bytes / sizeof(uint32))
		invalid_block("It is too short for its number of rows.");
	if (header.compression == COMPRESS_NONE &&
		header.frame_bytes != bytes - sizeof(header))
		invalid_block("The length of its rows is not the one that it names.");

	raw->frames = data + sizeof(header);
	raw->frame_bytes = header.frame_bytes;
	raw->n_rows = header.n_rows;
	if (header.compression != COMPRESS_NONE)
		raw->frames = raw_decompress(header.compression, raw->frames,
									 header.stored_bytes, header.frame_bytes);
	/* a value that was sent in text format, or detoasted, may be unaligned */
	else if (raw->frames != (const char *) MAXALIGN(raw->frames))
		raw->frames = memcpy(palloc(header.frame_bytes), raw->frames,
							 header.frame_bytes);
}

/* ----------
 * Portable types, whose stored values mean the same on every server
 *
 * The list contains built-in types whose stored form is the same in all
 * supported major versions.  These are not in the list:
 *
 * - types whose values contain an OID of their database: enums, composite
 * types, ranges of users, and arrays of all of these
 *
 * - types whose values must be checked, as domains
 *
 * - types whose values must be converted by name, as regclass
 *
 * - types of extensions, whose form depends on the version of the extension
 * ----------
 */

static bool
is_portable(Oid type_id)
{
	switch (type_id)
	{
			/* numbers */
		case BOOLOID:
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case FLOAT4OID:
		case FLOAT8OID:
		case NUMERICOID:
		case CASHOID:
		case OIDOID:
		case TIDOID:
		case XID8OID:
		case LSNOID:

			/* times */
		case DATEOID:
		case TIMEOID:
		case TIMETZOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
		case INTERVALOID:

			/* strings */
		case CHAROID:
		case NAMEOID:
		case TEXTOID:
		case VARCHAROID:
		case BPCHAROID:
		case BYTEAOID:
		case BITOID:
		case VARBITOID:
		case UUIDOID:
		case INETOID:
		case CIDROID:
		case MACADDROID:
		case MACADDR8OID:

			/* documents */
		case JSONOID:
		case JSONBOID:
		case XMLOID:
		case TSVECTOROID:
		case TSQUERYOID:

			/* geometric types */
		case POINTOID:
		case LSEGOID:
		case LINEOID:
		case BOXOID:
		case PATHOID:
		case POLYGONOID:
		case CIRCLEOID:

			/* ranges, whose values contain the OID of a built-in type */
		case INT4RANGEOID:
		case INT8RANGEOID:
		case NUMRANGEOID:
		case DATERANGEOID:
		case TSRANGEOID:
		case TSTZRANGEOID:
		case INT4MULTIRANGEOID:
		case INT8MULTIRANGEOID:
		case NUMMULTIRANGEOID:
		case DATEMULTIRANGEOID:
		case TSMULTIRANGEOID:
		case TSTZMULTIRANGEOID:
			return true;

		default:
			return false;
	}
}

/* Is the type portable, or an array of a portable type? */
static bool
is_portable_or_array(Oid type_id)
{
	Oid			element;

	if (is_portable(type_id))
		return true;
	element = get_element_type(type_id);
	/* a type of a user may have an element type without being its array */
	return OidIsValid(element) && is_portable(element) &&
		get_array_type(element) == type_id;
}

const char *
raw_columns_reason(TupleDesc columns)
{
	for (int i = 0; i < columns->natts; i++)
	{
		Form_pg_attribute column = TupleDescAttr(columns, i);

		if (!column->attisdropped && !is_portable_or_array(column->atttypid))
			return "a column's type may be stored in another way on another server";
	}
	return NULL;
}
