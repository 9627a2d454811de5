/*-------------------------------------------------------------------------
 *
 * snapshot_function.c
 *	  The SQL function pg_pardump_exported_snapshot(), which returns what an
 *	  exported snapshot contains, before a session imports it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/fd.h"
#include "storage/procarray.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "function/sql_call.h"
#include "shared/snapshot_text.h"

/* snapmgr.c:SNAPSHOT_EXPORT_DIR */
#define EXPORT_DIR "pg_snapshots"

/* The longest line, "sxcnt:4294967295", and the lines that are in no list. */
#define LINE_BYTES 17
#define OTHER_LINES 16

PG_FUNCTION_INFO_V1(pg_pardump_exported_snapshot);

/* The directory is below the data directory, which a backend works in. */
static int
open_snapshot(const char *id, const char *path)
{
	int			fd = OpenTransientFile(path, O_RDONLY | O_NOFOLLOW |
									   O_NONBLOCK | PG_BINARY);

	if (fd < 0 && errno == ENOENT)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("snapshot \"%s\" does not exist", id)));
	if (fd < 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not open file \"%s\": %m", path)));
	return fd;
}

/* How long the file is; exported snapshots do not change. */
static Size
snapshot_length(int fd, const char *path)
{
	Size		most = ((Size) GetMaxSnapshotXidCount() +
						(Size) GetMaxSnapshotSubxidCount() + OTHER_LINES) * LINE_BYTES;
	struct stat st;

	if (fstat(fd, &st) < 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not stat file \"%s\": %m", path)));
	if (!S_ISREG(st.st_mode))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a regular file", path)));
	if (st.st_size > (off_t) Min(most, MaxAllocSize))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("file \"%s\" is too long for a snapshot", path)));
	return (Size) st.st_size;
}

/* The file is open only within this function. */
static char *
read_snapshot(const char *id, Size *length)
{
	char	   *path = psprintf(EXPORT_DIR "/%s", id);
	int			fd = open_snapshot(id, path);
	char	   *content;
	ssize_t		got;

	/* if an error is raised here, the transaction's end closes the file */
	*length = snapshot_length(fd, path);
	content = palloc(Max(*length, 1));

	/*
	 * One read() is enough for a regular file.  A short one leaves a text
	 * that snapshot_text_read() finds incomplete.
	 */
	got = read(fd, content, *length);
	if (got < 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read file \"%s\": %m", path)));
	*length = (Size) got;
	CloseTransientFile(fd);
	return content;
}

/*
 * pg_pardump_exported_snapshot(identifier text, OUT in_recovery boolean,
 *		OUT overflowed boolean, OUT has_subtransactions boolean)
 *
 * The identifier is that of pg_export_snapshot().  Every role may ask, as
 * every role may import the snapshot.
 */
Datum
pg_pardump_exported_snapshot(PG_FUNCTION_ARGS)
{
	SnapshotText snapshot;
	const char *problem;
	char	   *id;
	char	   *content;
	Size		length;
	Datum		values[3];
	bool		nulls[3] = {false};

	check_not_null(fcinfo, 0, "identifier");
	id = text_to_cstring(PG_GETARG_TEXT_PP(0));
	/* before it becomes part of a path */
	if (!snapshot_text_is_id(id))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid snapshot identifier: \"%s\"", id)));
	content = read_snapshot(id, &length);
	problem = snapshot_text_read(&snapshot, content, length);
	if (problem)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("invalid file of exported snapshot \"%s\"", id),
				 errdetail("The line \"%s\" is missing or invalid.", problem)));
	values[0] = BoolGetDatum(snapshot.in_recovery);
	values[1] = BoolGetDatum(snapshot.overflowed);
	values[2] = BoolGetDatum(snapshot.has_subxids);
	PG_RETURN_DATUM(result_row(fcinfo, values, nulls));
}
