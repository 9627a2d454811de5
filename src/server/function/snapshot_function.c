/*-------------------------------------------------------------------------
 *
 * snapshot_function.c
 *	  SQL functions about snapshots that sessions have exported:
 *	  pg_pardump_exported_snapshot() returns what a snapshot contains, before
 *	  a session imports it, and pg_pardump_adopt_snapshot() makes a snapshot
 *	  of another database available in this one.
 *
 * A snapshot is a set of transactions, those that had ended when it was
 * taken, and transaction IDs are those of the whole server: the snapshot
 * means the same in all databases.  SET TRANSACTION SNAPSHOT refuses a
 * snapshot of another database for one reason (snapmgr.c:ImportSnapshot()):
 * vacuum keeps the rows that the sessions of its own database can see, so
 * the exporter, in its database, protects nothing here.  A session of this
 * database does, the guard, if its own snapshot was taken first.  The guard
 * exports the contents of the other snapshot as its own, and all sessions
 * of this database import it in the usual way.
 *
 * Let ended(S) be the transactions that have ended for the snapshot S, G
 * the guard's own snapshot, and L the one that it adopts.  The rule is that
 * ended(G) is a subset of ended(L).  Then no row that L sees has been
 * removed, nor will be while the guard's transaction runs.  What is removed
 * from this database was deleted, or made invisible, by transactions that
 * had ended for some horizon, which was computed at some time:
 *
 * - before G was taken: these transactions had ended at that time, so they
 *   are in ended(G), and so in ended(L).  The row is dead for L as well.
 *
 * - after G was taken: the horizon is not above G's xmin, which the guard's
 *   entry in the array of processes shows since G was taken (it is taken
 *   and shown under one lock), and which stays there to the end of its
 *   transaction, as the first snapshot of a REPEATABLE READ transaction is
 *   registered.  All transactions before G's xmin are in ended(G), and so
 *   in ended(L): the row is dead for L as well.
 *
 * The same holds for freezing, for the bits of the visibility map, for
 * pruning and for deletions from indexes, which go by the same horizons;
 * and for pg_subtrans, which is cut off at a horizon of all databases.
 * Whether the session that took L still runs does not matter.  Transactions
 * that were rolled back may differ between the two snapshots in their
 * subtransactions: their rows are visible to none.
 *
 * Snapshots of one server are totally ordered, as they are taken, and
 * transactions end, under ProcArrayLock.  So the rule says that G was taken
 * before L, or that no transaction ended between the two.
 *
 * That L's xmin is not below G's xmin, which core checks when a session of
 * the same database imports a snapshot, follows from the rule, but the rule
 * does not follow from it: an old transaction of a third database holds
 * down the xmin of both, while VACUUM of this database, which disregards
 * that transaction, removes rows that were deleted between L and G.  L sees
 * them.  So a guard that is lost can never be replaced by a session with a
 * snapshot of its own, but, on a primary, by one that has imported the
 * snapshot from the guard while that was there: it shows the guard's xmin
 * from then on.
 *
 * In recovery the same argument holds for the transactions that replay has
 * ended.  All running ones are in the list of subtransactions then.  But
 * replay waits for, or cancels, only the sessions that it has listed before
 * (standby.c:ResolveRecoveryConflictWithSnapshot()), and a session that
 * imports a snapshot during that wait is not listed.  So on a standby the
 * guard itself, which is listed, has to run until all is read.
 *
 * The contents come from the server's own file, never from the caller: with
 * invented contents a running transaction could be taken for an aborted
 * one, and readers would write that into hint bits.  So the function can be
 * called by every role, as every role can import every snapshot of its
 * database.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access/transam.h"
#include "storage/fd.h"
#include "storage/procarray.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "base/server_compat.h"
#include "function/sql_call.h"
#include "shared/snapshot_text.h"

/* snapmgr.c:SNAPSHOT_EXPORT_DIR */
#define EXPORT_DIR "pg_snapshots"

/* The longest line, "sxcnt:4294967295", and the lines that are in no list. */
#define LINE_BYTES 17
#define OTHER_LINES 16

PG_FUNCTION_INFO_V1(pg_pardump_exported_snapshot);
PG_FUNCTION_INFO_V1(pg_pardump_adopt_snapshot);

/* ----------
 * The file of a snapshot
 * ----------
 */

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
read_file(const char *id, Size *length)
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

static void
refuse_file(const char *id, const char *line)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("invalid file of exported snapshot \"%s\"", id),
			 errdetail("The line \"%s\" is missing or invalid.", line)));
}

/* The function's argument, an identifier of pg_export_snapshot(). */
static char *
read_identifier(FunctionCallInfo fcinfo)
{
	char	   *id;

	check_not_null(fcinfo, 0, "identifier");
	id = text_to_cstring(PG_GETARG_TEXT_PP(0));
	/* before it becomes part of a path */
	if (!snapshot_text_is_id(id))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid snapshot identifier: \"%s\"", id)));
	return id;
}

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
 * The identifier is that of pg_export_snapshot().  Every role may ask, as
 * every role may import the snapshot.
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

/* What the argument of the proof needs of the guard's transaction. */
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
	 * Rows would be removed by age, disregarding all snapshots, and a session
	 * that imports a snapshot counts its age from then on (snapmgr.c:
	 * SetTransactionSnapshot()), so it would not notice.
	 */
	if (old_snapshot_threshold >= 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot adopt a snapshot while \"%s\" is set",
						"old_snapshot_threshold")));
}

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
 * The snapshot as the server's functions take it.  What is not set here, the
 * command ID for one, is not exported.
 */
static SnapshotData *
make_snapshot(const char *id, const SnapshotText *text)
{
	SnapshotData *snapshot = palloc0(sizeof(SnapshotData));

	if (!TransactionIdIsNormal(text->xmin))
		refuse_file(id, "xmin:");
	if (!TransactionIdIsNormal(text->xmax))
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
 * The transactions that run for a snapshot; in recovery, with some of their
 * subtransactions, as all are in one list then.
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
 * The rule: has every transaction that has ended for "guard" ended for
 * "adopted", too?
 */
static bool
is_not_newer(const SnapshotData *guard, const SnapshotData *adopted)
{
	uint32		n_guard;
	uint32		n_adopted;
	TransactionId *of_guard = running_transactions(guard, &n_guard);
	TransactionId *of_adopted = running_transactions(adopted, &n_adopted);
	TransactionId *sorted;

	/* one of them was taken before a promotion */
	if (guard->takenDuringRecovery != adopted->takenDuringRecovery)
		return false;
	/* follows from the rule; if it does not hold, some list is wrong */
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
 * The identifier is that of a snapshot which a session of any database has
 * exported.  To be called by a guard: at the top level of a REPEATABLE READ
 * transaction that has written nothing, and whose own snapshot is not newer.
 * Returns the name of the same snapshot in this database, for SET TRANSACTION
 * SNAPSHOT, which is valid until the guard's transaction ends.
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
