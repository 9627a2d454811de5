/*-------------------------------------------------------------------------
 *
 * index_compare.c
 *	  Compares the extension's index builds with the server's, once in a
 *	  session.
 *
 * A new release of the server could change the contents of btree pages.  So
 * before the extension builds its first index in a session, it builds a few
 * small ones, lets the server build the same ones, and compares all pages.
 * If they differ, the server builds all indexes of the session, which takes
 * longer but is never wrong.  index_command.c and index_function.c start the
 * comparison.
 *
 * The table and the indexes are created in a subtransaction that is rolled
 * back.  They are created by calls of the functions behind CREATE TABLE and
 * CREATE INDEX, so that no event trigger fires.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/xlog.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "commands/tablecmds.h"
#include "nodes/makefuncs.h"
#include "storage/bufmgr.h"
#include "utils/builtins.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"
#include "utils/uuid.h"

#include "base/server_compat.h"
#include "index/index_build.h"
#include "index/index_compare.h"

#define TABLE_NAME "pg_pardump_index_comparison"

/*
 * The number of rows: enough for several leaf pages in each index, and for
 * keys with more rows than fit into one posting list.
 */
#define N_ROWS 2500

#define N_COLUMNS 8

/* The result of the comparison in this session. */
static enum
{
	NOT_COMPARED,
	CANNOT_COMPARE,
	SAME,
	DIFFERENT
}			state = NOT_COMPARED;

static IndexCompareBuilder builder = INDEX_COMPARE_NOT_RUNNING;

const char *
index_compare_reason(void)
{
	static const char *const reasons[] = {
		[NOT_COMPARED] = "builds were not compared with the server's in this session",
		[CANNOT_COMPARE] = "builds could not be compared with the server's",
		[SAME] = NULL,
		[DIFFERENT] = "builds differ from the server's"
	};

	return reasons[state];
}

bool
index_compare_wanted(void)
{
	return state == NOT_COMPARED && builder == INDEX_COMPARE_NOT_RUNNING;
}

IndexCompareBuilder
index_compare_builder(void)
{
	return builder;
}

/* ----------
 * The table
 * ----------
 */

/*
 * Return the name of the table.  It is in pg_temp, so that no other session
 * and no object of a user has the same name.
 */
static RangeVar *
table_name(void)
{
	RangeVar   *name = makeRangeVar(pstrdup("pg_temp"), pstrdup(TABLE_NAME),
									-1);

	name->relpersistence = RELPERSISTENCE_TEMP;
	return name;
}

/* Create a temporary table.  Its texts have C collation, as others need. */
static Oid
create_table(void)
{
	static const Oid types[N_COLUMNS] = {INT4OID, INT8OID, INT2OID,
	TIMESTAMPTZOID, UUIDOID, FLOAT8OID, TEXTOID, BPCHAROID};
	CreateStmt *statement = makeNode(CreateStmt);
	Oid			relid;

	statement->relation = table_name();
	for (int i = 0; i < N_COLUMNS; i++)
		statement->tableElts = lappend(statement->tableElts,
									   makeColumnDef(psprintf("c%d", i + 1),
													 types[i], -1,
													 i < 6 ? InvalidOid
													 : C_COLLATION_OID));
	statement->oncommit = ONCOMMIT_NOOP;
	statement->accessMethod = pstrdup("heap");
	relid = DefineRelation(statement, RELKIND_RELATION, GetUserId(), NULL,
						   NULL).objectId;
	CommandCounterIncrement();
	return relid;
}

/*
 * Insert rows with unique values, values that many rows share, and NULLs, in
 * no particular order.
 */
static void
fill_table(Oid relid)
{
	Relation	rel = table_open(relid, RowExclusiveLock);

	for (uint64 i = 0; i < N_ROWS; i++)
	{
		uint64		mixed = (i + 1) * UINT64CONST(0x9E3779B97F4A7C15);
		pg_uuid_t	uuid;
		char		text[200];
		Datum		values[N_COLUMNS];
		bool		isnull[N_COLUMNS] = {false};
		HeapTuple	tuple;

		memset(&uuid, 0, sizeof(uuid));
		memcpy(&uuid, &mixed, sizeof(mixed));
		values[0] = Int32GetDatum((int32) (i * 7919 % 10007) - 5000);
		values[1] = Int64GetDatum((int64) (mixed >> 32) % 97 - 48);
		isnull[1] = i % 13 == 0;
		values[2] = Int16GetDatum((int16) (i / 7 % 50));
		isnull[2] = i % 7 == 0;
		values[3] = Int64GetDatum((int64) mixed);
		values[4] = UUIDPGetDatum(&uuid);
		values[5] = Float8GetDatum((double) (int64) mixed / 3);

		/* texts with headers of both lengths, and with spaces at their end */
		snprintf(text, sizeof(text), "%0*u", i % 11 == 0 ? 150 : 4,
				 (unsigned) (mixed >> 40) % 300);
		values[6] = CStringGetTextDatum(text);
		isnull[6] = i % 17 == 0;
		snprintf(text, sizeof(text), "%-*u", (int) (i % 500 % 20),
				 (unsigned) (i % 500));
		values[7] = CStringGetTextDatum(text);
		tuple = heap_form_tuple(RelationGetDescr(rel), values, isnull);
		simple_heap_insert(rel, tuple);
		heap_freetuple(tuple);
		pfree(DatumGetPointer(values[6]));
		pfree(DatumGetPointer(values[7]));
	}
	table_close(rel, NoLock);
	CommandCounterIncrement();
}

/* ----------
 * The indexes
 * ----------
 */

typedef struct Definition
{
	bool		unique;
	int			n_columns;
	int			columns[2];		/* number, or -number for DESC NULLS LAST */
} Definition;

static const Definition definitions[] =
{
	{true, 1, {1}},				/* has two levels */
	{false, 1, {2}},			/* has posting lists, also for NULLs */
	{false, 2, {-3, 4}},
	{true, 2, {5, -6}},
	{false, 1, {7}},
	{true, 2, {-8, 1}}
};

/* Create an index with this definition.  The server chooses its name. */
static Oid
create_index(Oid relid, const Definition *definition)
{
	IndexStmt  *statement = makeNode(IndexStmt);
	Oid			index;

	statement->relation = table_name();
	statement->accessMethod = pstrdup("btree");
	statement->unique = definition->unique;
	for (int i = 0; i < definition->n_columns; i++)
	{
		IndexElem  *element = makeNode(IndexElem);
		int			column = definition->columns[i];

		element->name = psprintf("c%d", abs(column));
		element->ordering = column < 0 ? SORTBY_DESC : SORTBY_DEFAULT;
		element->nulls_ordering = column < 0 ? SORTBY_NULLS_LAST
			: SORTBY_NULLS_DEFAULT;
		statement->indexParams = lappend(statement->indexParams, element);
	}
	index = define_index(relid, statement);
	CommandCounterIncrement();
	return index;
}

/*
 * Compare the pages of two indexes, except the LSN and the checksum, which
 * are the first fields of a page.
 */
static bool
same_pages(Oid one, Oid other)
{
	const Size	skipped = offsetof(PageHeaderData, pd_flags);
	Relation	rels[2] = {index_open(one, AccessShareLock),
	index_open(other, AccessShareLock)};
	BlockNumber n_blocks = RelationGetNumberOfBlocks(rels[0]);
	bool		same = n_blocks == RelationGetNumberOfBlocks(rels[1]);

	for (BlockNumber block = 0; same && block < n_blocks; block++)
	{
		Buffer		buffers[2] = {ReadBuffer(rels[0], block),
		ReadBuffer(rels[1], block)};

		/* no lock is needed, as no other session can access the pages */
		same = memcmp((char *) BufferGetPage(buffers[0]) + skipped,
					  (char *) BufferGetPage(buffers[1]) + skipped,
					  BLCKSZ - skipped) == 0;
		ReleaseBuffer(buffers[0]);
		ReleaseBuffer(buffers[1]);
	}
	index_close(rels[0], NoLock);
	index_close(rels[1], NoLock);
	return same;
}

/* Build all indexes twice.  Returns whether all pairs have the same pages. */
static bool
compare_builds(void)
{
	Oid			relid = create_table();

	fill_table(relid);
	for (int i = 0; i < lengthof(definitions); i++)
	{
		uint64		n_before = index_build_count();
		Oid			servers;
		Oid			ours;

		builder = INDEX_COMPARE_SERVER;
		servers = create_index(relid, &definitions[i]);
		builder = INDEX_COMPARE_FAST;
		ours = create_index(relid, &definitions[i]);

		/* if the server had built both, they would be the same, too */
		if (index_build_count() != n_before + 1)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("the index was built by the server")));
		if (!same_pages(servers, ours))
			return false;
	}
	return true;
}

/* ----------
 * The comparison
 * ----------
 */

/*
 * Run the comparison in a subtransaction, and roll it back.  Returns whether
 * there is a result, and sets *same to it.
 */
static bool
compare_and_undo(bool *same)
{
	MemoryContext old_context = CurrentMemoryContext;
	ResourceOwner old_owner = CurrentResourceOwner;
	ErrorData  *volatile error = NULL;
	bool		checked;

	BeginInternalSubTransaction(NULL);
	PG_TRY();
	{
		PushActiveSnapshot(GetTransactionSnapshot());
		*same = compare_builds();
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(old_context);
		error = CopyErrorData();
		FlushErrorState();
	}
	PG_END_TRY();
	builder = INDEX_COMPARE_NOT_RUNNING;
	RollbackAndReleaseCurrentSubTransaction();
	MemoryContextSwitchTo(old_context);
	CurrentResourceOwner = old_owner;
	if (error == NULL)
		return true;
	if (error->sqlerrcode == ERRCODE_QUERY_CANCELED)
		ReThrowError(error);
	ereport(DEBUG1,
			(errmsg_internal("index builds could not be compared: %s",
							 error->message)));

	/* the checks of tree_writer.c raise this error if they find a mistake */
	checked = error->sqlerrcode == ERRCODE_INTERNAL_ERROR;
	if (checked)
		*same = false;
	FreeErrorData(error);
	return checked;
}

void
index_compare_run(void)
{
	bool		same = false;

	if (state == SAME || state == DIFFERENT ||
		builder != INDEX_COMPARE_NOT_RUNNING)
		return;
	if (index_build_unsupported() != NULL || XactReadOnly ||
		RecoveryInProgress() || IsInParallelMode() ||
		InSecurityRestrictedOperation() || !compare_and_undo(&same))
	{
		state = CANNOT_COMPARE;
		return;
	}
	state = same ? SAME : DIFFERENT;
	if (!same)
		ereport(WARNING,
				(errmsg("index builds by pg_pardump differ from those of this server"),
				 errdetail("All indexes of this session are built by the server.")));
}
