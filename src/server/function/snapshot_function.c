/*-------------------------------------------------------------------------
 *
 * snapshot_function.c
 *	  The SQL functions for snapshots that sessions have exported:
 *	  pg_pardump_exported_snapshot() returns properties of a snapshot before
 *	  a session imports it, and pg_pardump_adopt_snapshot() makes a snapshot
 *	  of another database available in this one.
 *
 * On a standby, the programs call the first function to find out whether a
 * snapshot is complete (source/standby_overflow.c).  A dump of all databases
 * with one snapshot calls the second one in each database
 * (cluster/cluster_snapshot.c).  The following proves that it is right.
 *
 * A snapshot is a set of transactions: those that had ended when it was
 * taken.  Transaction IDs are those of the whole server, so a snapshot means
 * the same in all databases.  SET TRANSACTION SNAPSHOT refuses a snapshot of
 * another database for only one reason (snapmgr.c:ImportSnapshot()).  VACUUM
 * keeps the rows that sessions of the same database can see, so a session
 * that has exported a snapshot in another database protects no rows in this
 * one.  But a session of this database protects them if its own snapshot was
 * taken first.  This session is called the guard.  It exports the contents of
 * the other snapshot as its own, and all sessions of this database import
 * that in the usual way.
 *
 * Let ended(S) be the transactions that have ended for a snapshot S.  Let G
 * be the guard's own snapshot, and L the snapshot that it adopts.  The rule
 * is that ended(G) must be a subset of ended(L).  Then no row that L sees has
 * been removed, or will be removed while the guard's transaction runs: if a
 * row is removed from this database, the transaction that deleted it, or made
 * it invisible, had ended for a horizon.  This horizon was computed either
 *
 * - before G was taken: the transaction had ended at that time, so it is in
 *   ended(G), and therefore in ended(L).  The row is dead for L as well.
 *
 * - or after G was taken: the horizon is not above G's xmin.  The guard's
 *   entry in the array of processes shows this xmin since G was taken (both
 *   happen under one lock) until the end of its transaction, because the
 *   first snapshot of a REPEATABLE READ transaction is registered.  All
 *   transactions before G's xmin are in ended(G), and therefore in ended(L).
 *   The row is dead for L as well.
 *
 * The same is true of freezing, of the bits of the visibility map, of pruning
 * and of deletions from indexes, which depend on the same horizons; and of
 * pg_subtrans, which is truncated at a horizon of all databases.  It does not
 * matter whether the session that took L still runs.  The subtransactions of
 * a transaction that was rolled back may differ between the two snapshots,
 * but no snapshot sees their rows.
 *
 * Snapshots of one server are totally ordered, because snapshots are taken,
 * and transactions end, under ProcArrayLock.  So the rule means that G was
 * taken before L, or that no transaction ended between the two.
 *
 * When a session of the same database imports a snapshot, the server checks
 * that L's xmin is not below G's xmin.  This follows from the rule, but the
 * rule does not follow from it.  Assume that an old transaction of a third
 * database determines the xmin of both snapshots.  VACUUM of this database
 * disregards that transaction, and may have removed rows that were deleted
 * between L and G, but which L sees.
 *
 * So if a guard is lost, a session with a snapshot of its own can never
 * replace it.  On a primary, a session that has imported the snapshot from
 * the running guard can replace it, as this session shows the guard's xmin
 * from then on.  This protects rows, but not indexes.  The guard is in the
 * list of transactions for which CREATE INDEX CONCURRENTLY waits, but a
 * session that imports the snapshot later is not in it.  So after the guard
 * has ended, an index that becomes valid may lack rows that L sees.
 *
 * In recovery the proof is the same for the transactions whose end has been
 * replayed; all running ones are in the list of subtransactions then.  But
 * replay waits for, or cancels, only sessions that it has listed before
 * (standby.c:ResolveRecoveryConflictWithSnapshot()).  A session that imports
 * a snapshot during that wait is not listed.  So on a standby the guard
 * itself, which is listed, must run until everything has been read.  A guard
 * that has imported its snapshot may not be listed either; the function
 * cannot see this.
 *
 * The proof ends with a promotion.  The old primary marks index entries as
 * dead by its own horizon, and the marks reach the standby in full-page
 * images.  Index scans ignore them only in transactions that began in
 * recovery (genam.c:RelationGetIndexScan()), so sessions that import L later
 * would miss rows.
 *
 * The contents of a snapshot are read from the server's own file, and are not
 * an argument.  With invented contents, a running transaction could seem to
 * be aborted, and readers would write that into hint bits.  So every role may
 * call the function, as every role may import any snapshot of its database.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access/transam.h"
#include "access/xlog.h"
#include "storage/fd.h"
#include "storage/procarray.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "base/server_compat.h"
#include "function/sql_call.h"
#include "shared/snapshot_text.h"

/* The directory of exported snapshots (snapmgr.c:SNAPSHOT_EXPORT_DIR) */
#define EXPORT_DIR "pg_snapshots"

/*
 * The length of the longest line, "sxcnt:4294967295", and more than the
 * number of lines that are not in a list.
 */
#define LINE_BYTES 17
#define OTHER_LINES 16

PG_FUNCTION_INFO_V1(pg_pardump_exported_snapshot);
PG_FUNCTION_INFO_V1(pg_pardump_adopt_snapshot);

/* ----------
 * The file of a snapshot
 * ----------
 */

/*
 * Open the file of a snapshot.  Its path is relative, as the current
 * directory of a backend is the data directory.
 */
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

/*
 * Return the length of the file, which does not change after the snapshot was
 * exported.  Raises an error if it is longer than any snapshot.
 */
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

/* Read the file of a snapshot, and close it. */
static char *
read_file(const char *id, Size *length)
{
	char	   *path = psprintf(EXPORT_DIR "/%s", id);
	int			fd = open_snapshot(id, path);
	char	   *content;
	ssize_t		got;

	/* after an error here, the end of the transaction closes the file */
	*length = snapshot_length(fd, path);
	content = palloc(Max(*length, 1));

	/*
	 * One read() is enough for a regular file.  If it returns fewer bytes,
	 * snapshot_text_read() reports that the text is incomplete.
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

static void
refuse_file(const char *id, const char *line)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("invalid file of exported snapshot \"%s\"", id),
			 errdetail("The line \"%s\" is missing or invalid.", line)));
}

/* Read the argument of a function: a result of pg_export_snapshot(). */
static char *
read_identifier(FunctionCallInfo fcinfo)
{
	char	   *id;

	check_not_null(fcinfo, 0, "identifier");
	id = text_to_cstring(PG_GETARG_TEXT_PP(0));
	/* checked before it becomes part of a path */
	if (!snapshot_text_is_id(id))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid snapshot identifier: \"%s\"", id)));
	return id;
}

/* Read and parse the file of a snapshot. */
static SnapshotText
read_snapshot(const char *id)
{
	SnapshotText snapshot;
	Size		length;
	char	   *content = read_file(id, &length);
	const char *problem = snapshot_text_read(&snapshot, content, length);

	if (problem)
		refuse_file(id, problem);
	return snapshot;
}

/*
 * pg_pardump_exported_snapshot(identifier text, OUT in_recovery boolean,
 *		OUT overflowed boolean, OUT has_subtransactions boolean)
 *
 * The identifier is a result of pg_export_snapshot().  Every role may call
 * this, as every role may import the snapshot.
 */
Datum
pg_pardump_exported_snapshot(PG_FUNCTION_ARGS)
{
	SnapshotText snapshot = read_snapshot(read_identifier(fcinfo));
	Datum		values[3];
	bool		nulls[3] = {false};

	values[0] = BoolGetDatum(snapshot.in_recovery);
	values[1] = BoolGetDatum(snapshot.overflowed);
	values[2] = BoolGetDatum(snapshot.has_subxids);
	PG_RETURN_DATUM(result_row(fcinfo, values, nulls));
}

/* ----------
 * Adoption
 * ----------
 */

/* Raise an error unless the proof applies to the guard's transaction. */
static void
check_guard(void)
{
	if (XactIsoLevel != XACT_REPEATABLE_READ)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("a snapshot can be adopted only in a REPEATABLE READ transaction")));
	if (IsSubTransaction())
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("cannot adopt a snapshot in a subtransaction")));
	/* ExportSnapshot() would add its transaction ID to the running ones */
	if (TransactionIdIsValid(GetTopTransactionIdIfAny()))
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("cannot adopt a snapshot in a transaction that has written")));

	/*
	 * With this setting, rows are removed by age, even if a snapshot sees
	 * them.  A session that imports a snapshot would not notice, as it counts
	 * the age from the import on (snapmgr.c: SetTransactionSnapshot()).
	 */
	if (old_snapshot_threshold >= 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot adopt a snapshot while \"%s\" is set",
						"old_snapshot_threshold")));
}

/*
 * Make the list of the transaction IDs in n lines.  "name" is that of the
 * lines, for an error.
 */
static TransactionId *
make_list(const char *id, const char *name, const char *lines, uint32 n,
		  int at_most)
{
	TransactionId *list;

	/* ImportSnapshot() has the same limits */
	if (n > (uint32) at_most)
		refuse_file(id, name);
	list = palloc(Max(n, 1) * sizeof(TransactionId));
	snapshot_text_list(lines, n, list);
	for (uint32 i = 0; i < n; i++)
		if (!TransactionIdIsNormal(list[i]))
			refuse_file(id, name);
	return list;
}

/*
 * Make a snapshot for the server's functions.  Members that are not set here,
 * such as the command ID, are not exported.
 */
static SnapshotData *
make_snapshot(const char *id, const SnapshotText *text)
{
	SnapshotData *snapshot = palloc0(sizeof(SnapshotData));

	if (!TransactionIdIsNormal(text->xmin))
		refuse_file(id, "xmin:");

	/*
	 * A file that the server could not remove may be so old that its
	 * transaction IDs seem to be in the future.  Those are not used yet.
	 */
	if (!TransactionIdIsNormal(text->xmax) ||
		TransactionIdFollows(text->xmax, ReadNextTransactionId()))
		refuse_file(id, "xmax:");
	if (snapshot_text_is_incomplete(text))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("snapshot \"%s\" lacks the transactions that were running when it was taken",
						id)));
	snapshot->snapshot_type = SNAPSHOT_MVCC;
	snapshot->xmin = text->xmin;
	snapshot->xmax = text->xmax;
	snapshot->xip = make_list(id, "xip:", text->xids, text->n_xids,
							  GetMaxSnapshotXidCount());
	snapshot->xcnt = text->n_xids;
	snapshot->subxip = make_list(id, "sxp:", text->subxids, text->n_subxids,
								 GetMaxSnapshotSubxidCount());
	snapshot->subxcnt = (int32) text->n_subxids;
	snapshot->suboverflowed = text->overflowed;
	snapshot->takenDuringRecovery = text->in_recovery;
	return snapshot;
}

/*
 * Return the transactions that are running for a snapshot.  In recovery, one
 * list contains these and some of their subtransactions.
 */
static TransactionId *
running_transactions(const SnapshotData *snapshot, uint32 *n)
{
	if (snapshot->takenDuringRecovery)
	{
		*n = (uint32) snapshot->subxcnt;
		return snapshot->subxip;
	}
	*n = snapshot->xcnt;
	return snapshot->xip;
}

/*
 * Test the rule: has every transaction that has ended for "guard" also ended
 * for "adopted"?
 */
static bool
is_not_newer(const SnapshotData *guard, const SnapshotData *adopted)
{
	uint32		n_guard;
	uint32		n_adopted;
	TransactionId *of_guard = running_transactions(guard, &n_guard);
	TransactionId *of_adopted = running_transactions(adopted, &n_adopted);
	TransactionId *sorted;

	/* if they differ, one of them was taken before a promotion */
	if (guard->takenDuringRecovery != adopted->takenDuringRecovery)
		return false;
	/* this follows from the rule, but is tested in case a list is wrong */
	if (TransactionIdPrecedes(adopted->xmin, guard->xmin))
		return false;
	if (TransactionIdPrecedes(adopted->xmax, guard->xmax))
		return false;
	sorted = palloc(Max(n_guard, 1) * sizeof(TransactionId));
	memcpy(sorted, of_guard, n_guard * sizeof(TransactionId));
	qsort(sorted, n_guard, sizeof(TransactionId), xidComparator);
	for (uint32 i = 0; i < n_adopted; i++)
		if (TransactionIdPrecedes(of_adopted[i], guard->xmax) &&
			bsearch(&of_adopted[i], sorted, n_guard, sizeof(TransactionId),
					xidComparator) == NULL)
			return false;
	return true;
}

/*
 * pg_pardump_adopt_snapshot(identifier text) RETURNS text
 *
 * The identifier is that of a snapshot that a session of any database has
 * exported.  The caller becomes the guard.  It must call this at the top
 * level of a REPEATABLE READ transaction that has written nothing, and whose
 * own snapshot is not newer.  Returns the identifier of the same snapshot in
 * this database, for SET TRANSACTION SNAPSHOT.  It is valid until the guard's
 * transaction ends.
 */
Datum
pg_pardump_adopt_snapshot(PG_FUNCTION_ARGS)
{
	char	   *id = read_identifier(fcinfo);
	SnapshotText text;
	SnapshotData *adopted;

	check_guard();
	text = read_snapshot(id);
	adopted = make_snapshot(id, &text);
	/* see snapshot_identity() in the programs' snapshot.h */
	if (adopted->takenDuringRecovery && !RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("snapshot \"%s\" was taken before the standby was promoted",
						id)));
	if (!is_not_newer(GetTransactionSnapshot(), adopted))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("snapshot \"%s\" is older than this transaction's snapshot",
						id),
				 errdetail("Transactions have ended between the two, so that rows which snapshot \"%s\" sees might have been removed.",
						   id),
				 errhint("Begin the transaction, and run a query in it, before the snapshot is taken.")));
	PG_RETURN_TEXT_P(cstring_to_text(ExportSnapshot(adopted)));
}
