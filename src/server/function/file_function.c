/*-------------------------------------------------------------------------
 *
 * file_function.c
 *	  The SQL functions for base backups: pg_pardump_read_files(),
 *	  pg_pardump_last_files() and pg_pardump_file_type().
 *
 * pg_parbasebackup calls these functions.  pg_pardump_read_files() returns a
 * piece of a base backup as a set of bytea values, and
 * pg_pardump_last_files() the checksums and errors of the files in it.
 * pg_pardump_file_type() returns the type of a file.  read/file_stream.c
 * reads the files; this file checks the arguments.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/block.h"
#include "storage/fd.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/pg_lsn.h"

#include "function/sql_call.h"
#include "read/file_stream.h"

PG_FUNCTION_INFO_V1(pg_pardump_read_files);
PG_FUNCTION_INFO_V1(pg_pardump_last_files);
PG_FUNCTION_INFO_V1(pg_pardump_file_type);

/* The arguments that are arrays, in the order of CREATE FUNCTION. */
typedef enum FileArgument
{
	FILE_PATHS,
	FILE_OFFSETS,
	FILE_LENGTHS,
	FILE_HEADERS,
	FILE_PADDINGS,
	FILE_REQUIRED,
	FILE_FIRST_BLOCKS
} FileArgument;

#define N_FILE_ARGUMENTS (FILE_FIRST_BLOCKS + 1)

static const char *const argument_names[N_FILE_ARGUMENTS] = {
	"paths", "offsets", "lengths", "headers", "paddings", "required",
	"first_blocks"
};

typedef struct ArgumentArray
{
	Datum	   *values;
	bool	   *nulls;
} ArgumentArray;

/* The state of a call, in the multi-call context of the function. */
typedef struct FilesCall
{
	Oid			role;			/* the current user of the first call */
	FileStreamItem *items;
	int			n_items;
	FileStream *stream;
} FilesCall;

/*
 * The result of pg_pardump_last_files().  Only the role that has read the
 * files can get it, because a CRC can reveal the contents of a file.
 */
static KeptResult last_files = {.n_values = MAX_KEPT_VALUES,.typlen = -1};

/* Read an argument that is an array.  Returns the number of its elements. */
static int
read_array(FunctionCallInfo fcinfo, int no, ArgumentArray *array)
{
	ArrayType  *argument;
	int16		length;
	bool		by_value;
	char		align;
	int			n;

	/* the type of the elements is that of CREATE FUNCTION */
	check_not_null(fcinfo, no, argument_names[no]);
	argument = PG_GETARG_ARRAYTYPE_P(no);
	get_typlenbyvalalign(ARR_ELEMTYPE(argument), &length, &by_value, &align);
	deconstruct_array(argument, ARR_ELEMTYPE(argument), length, by_value, align,
					  &array->values, &array->nulls, &n);
	return n;
}

/*
 * Read all arrays, which must have the same number of elements.  Returns this
 * number.
 */
static int
read_arrays(FunctionCallInfo fcinfo, ArgumentArray *arrays)
{
	int			n_items = 0;

	for (int no = 0; no < N_FILE_ARGUMENTS; no++)
	{
		int			n = read_array(fcinfo, no, &arrays[no]);

		if (no > 0 && n != n_items)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("%s must have as many elements as %s",
							argument_names[no], argument_names[0])));
		n_items = n;
	}
	return n_items;
}

/*
 * Return an element of an array of numbers, which must be between 0 and
 * "max".  Returns 0 for NULL.
 */
static int64
number_at(const ArgumentArray *arrays, FileArgument no, int i, int64 max)
{
	const ArgumentArray *array = &arrays[no];
	int64		number;

	/* an item without a file has no offset and no length */
	if (array->nulls[i])
		return 0;
	number = no == FILE_PADDINGS ? DatumGetInt32(array->values[i]) :
		DatumGetInt64(array->values[i]);
	if (number < 0 || number > max)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be between 0 and " INT64_FORMAT,
						argument_names[no], max)));
	return number;
}

/*
 * Check a path, and return it in canonical form.  Even a role that may read
 * other files of the server can read only the data directory with these
 * functions: a path must be relative to it, and not lead above it.  Only the
 * server's own symbolic links are followed (read/file_stream.c).
 */
static char *
path_of(bytea *value)
{
	size_t		len = VARSIZE_ANY_EXHDR(value);
	char	   *path = pnstrdup(VARDATA_ANY(value), len);

	/* a path with a zero byte would name another file */
	if (len == 0 || strlen(path) != len)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a path must not be empty or contain zero bytes")));
	/* paths are bytea, as names of files may be in any encoding */
	canonicalize_path(path);
	if (is_absolute_path(path))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("absolute path not allowed")));
	if (!path_is_relative_and_below_cwd(path))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("path must be in or below the data directory")));
	return path;
}

/* Read the range of a file for an item.  Without a path, it has none. */
static void
read_range(const ArgumentArray *arrays, int i, FileRange *range)
{
	if (arrays[FILE_PATHS].nulls[i])
		return;
	range->path = path_of(DatumGetByteaPP(arrays[FILE_PATHS].values[i]));
	range->offset = number_at(arrays, FILE_OFFSETS, i, PG_INT64_MAX / 2);
	range->length = number_at(arrays, FILE_LENGTHS, i, PG_INT64_MAX / 2);
	range->first_block = FILE_RANGE_NO_PAGES;
	if (arrays[FILE_FIRST_BLOCKS].nulls[i])
		return;
	range->first_block = number_at(arrays, FILE_FIRST_BLOCKS, i, MaxBlockNumber);
	if (range->offset % BLCKSZ != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the offset of pages must be a multiple of %d", BLCKSZ)));
}

/*
 * Make the items of the arrays.  Paths are copied.  Headers point into the
 * arguments, which the executor keeps until the last call (execSRF.c).
 */
static FileStreamItem *
read_items(FunctionCallInfo fcinfo, int *n_items)
{
	ArgumentArray arrays[N_FILE_ARGUMENTS];
	FileStreamItem *items;

	*n_items = read_arrays(fcinfo, arrays);
	items = palloc0((*n_items + 1) * sizeof(FileStreamItem));
	for (int i = 0; i < *n_items; i++)
	{
		FileStreamItem *item = &items[i];

		read_range(arrays, i, &item->range);
		item->padding = number_at(arrays, FILE_PADDINGS, i, BLCKSZ);
		item->required = !arrays[FILE_REQUIRED].nulls[i] &&
			DatumGetBool(arrays[FILE_REQUIRED].values[i]);
		if (!arrays[FILE_HEADERS].nulls[i])
		{
			bytea	   *header = DatumGetByteaPP(arrays[FILE_HEADERS].values[i]);

			item->header = VARDATA_ANY(header);
			item->header_len = VARSIZE_ANY_EXHDR(header);
		}
	}
	return items;
}

/*
 * Read the argument for compression.  Each piece becomes a frame of a file,
 * so gzip is refused: not all programs that decompress gzip can read several
 * members one after another.
 */
static CompressSpec
read_compression(text * arg)
{
	CompressSpec spec = read_compress_spec(text_to_cstring(arg));

	if (spec.method == COMPRESS_GZIP)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("files cannot be compressed with \"gzip\""),
				 errhint("Supported compression methods are none, lz4 and zstd.")));
	return spec;
}

/*
 * Keep the results of a call for pg_pardump_last_files().  For each page with
 * a wrong checksum there are four numbers: its item, counted from 1, its
 * block, and both checksums.  -1 bytes mean that the file did not exist.
 */
static void
keep_last_files(const FilesCall *call)
{
	const FileStreamResult *result = file_stream_result(call->stream);
	Datum	   *numbers[MAX_KEPT_VALUES];
	int			n[MAX_KEPT_VALUES] = {call->n_items, call->n_items, 4 * result->n_failures};
	Datum		values[MAX_KEPT_VALUES];

	for (int i = 0; i < MAX_KEPT_VALUES; i++)
		numbers[i] = palloc((n[i] + 1) * sizeof(Datum));
	for (int i = 0; i < call->n_items; i++)
	{
		numbers[0][i] = Int64GetDatum(result->ranges[i].bytes);
		numbers[1][i] = Int64GetDatum((int64) result->ranges[i].crc);
	}
	for (int i = 0; i < result->n_failures; i++)
	{
		const PageFailure *failure = &result->failures[i];
		Datum	   *place = &numbers[2][4 * i];

		place[0] = Int64GetDatum(failure->item + 1);
		place[1] = Int64GetDatum((int64) failure->block);
		place[2] = Int64GetDatum(failure->computed);
		place[3] = Int64GetDatum(failure->stored);
	}
	for (int i = 0; i < MAX_KEPT_VALUES; i++)
		values[i] = PointerGetDatum(construct_array(numbers[i], n[i], INT8OID,
													sizeof(int64),
													FLOAT8PASSBYVAL,
													TYPALIGN_DOUBLE));
	kept_result_set(&last_files, call->role, values);
}

/*
 * Check all arguments and create the stream.  The current context must live
 * until the last call.  No file is opened yet.
 */
static FilesCall *
begin_files_call(FunctionCallInfo fcinfo)
{
	FilesCall  *call = palloc0(sizeof(FilesCall));
	CompressSpec compress;

	check_not_null(fcinfo, N_FILE_ARGUMENTS, "start_lsn");
	check_not_null(fcinfo, N_FILE_ARGUMENTS + 1, "compression");
	compress = read_compression(PG_GETARG_TEXT_PP(N_FILE_ARGUMENTS + 1));
	call->role = GetUserId();
	call->items = read_items(fcinfo, &call->n_items);
	call->stream = file_stream_new(call->items, call->n_items,
								   PG_GETARG_LSN(N_FILE_ARGUMENTS), &compress);
	return call;
}

/*
 * pg_pardump_read_files(paths bytea[], offsets bigint[], lengths bigint[],
 *						 headers bytea[], paddings integer[],
 *						 required boolean[], first_blocks bigint[],
 *						 start_lsn pg_lsn, compression text)
 *
 * Returns one value in each call, so that the server need not store all of
 * them.  Between two calls only memory of the FuncCallContext is in use
 * (read/file_stream.c).
 */
Datum
pg_pardump_read_files(PG_FUNCTION_ARGS)
{
	FuncCallContext *funcctx;
	FilesCall  *call;
	bytea	   *value;
	MemoryContext old_context;

	if (SRF_IS_FIRSTCALL())
	{
		funcctx = SRF_FIRSTCALL_INIT();
		old_context = MemoryContextSwitchTo(funcctx->multi_call_memory_ctx);
		kept_result_forget(&last_files);
		kept_memory_begin();
		call = begin_files_call(fcinfo);
		funcctx->user_fctx = call;
		MemoryContextSwitchTo(old_context);
	}

	funcctx = SRF_PERCALL_SETUP();
	call = funcctx->user_fctx;
	value = file_stream_next(call->stream);
	if (value)
		SRF_RETURN_NEXT(funcctx, PointerGetDatum(value));

	/*
	 * Results are kept only now, after the last row: pg_pardump_last_files()
	 * must not return those of a call that has failed, or whose rows were not
	 * all fetched.
	 */
	keep_last_files(call);
	SRF_RETURN_DONE(funcctx);
}

/*
 * pg_pardump_last_files(OUT bytes bigint[], OUT crcs bigint[],
 *						 OUT failures bigint[])
 */
Datum
pg_pardump_last_files(PG_FUNCTION_ARGS)
{
	PG_RETURN_DATUM(kept_result_row(fcinfo, &last_files));
}

/* Return the letter for a type of file, as in find -type. */
static char
type_letter(mode_t mode)
{
	switch (mode & S_IFMT)
	{
		case S_IFREG:
			return 'f';
		case S_IFDIR:
			return 'd';
		case S_IFLNK:
			return 'l';
		case S_IFIFO:
			return 'p';
		case S_IFSOCK:
			return 's';
		case S_IFBLK:
			return 'b';
		default:
			return 'c';
	}
}

/*
 * Raise an error if the server cannot read a file.  Returns false if the file
 * does not exist any more.
 */
static bool
check_readable(const char *path)
{
	int			fd = OpenTransientFile(path, O_RDONLY | O_NOFOLLOW |
									   O_NONBLOCK | PG_BINARY);

	if (fd < 0 && errno == ENOENT)
		return false;
	if (fd < 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not open file \"%s\": %m", path)));
	CloseTransientFile(fd);
	return true;
}

/*
 * pg_pardump_file_type(path text)
 *
 * Returns NULL if the file does not exist.  An empty file is opened, because
 * a base backup does not read it later, but must fail if the server has no
 * permission to read it.
 */
Datum
pg_pardump_file_type(PG_FUNCTION_ARGS)
{
	const char *path = path_of(PG_GETARG_BYTEA_PP(0));
	struct stat st;

	/* lstat(), because the client also needs to know about links */
	if (lstat(path, &st) < 0)
	{
		if (errno == ENOENT)
			PG_RETURN_NULL();
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not stat file \"%s\": %m", path)));
	}
	if (S_ISREG(st.st_mode) && st.st_size == 0 && !check_readable(path))
		PG_RETURN_NULL();
	PG_RETURN_CHAR(type_letter(st.st_mode));
}
