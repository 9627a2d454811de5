/*-------------------------------------------------------------------------
 *
 * index_compare.c
 *	  Decides who builds the indexes of a session: a setting enables builds
 *	  by the extension, which are first compared with the server's.
 *
 * load_function.c installs the setting and the hook of this file when the
 * library is loaded.
 *
 * A new release of the server could change the contents of btree pages.  So
 * before the extension builds its first index in a session, it builds a few
 * small ones, lets the server build the same ones, and compares all pages.
 * If they differ, the server builds all indexes of the session, which takes
 * longer but is never wrong.
 *
 * The table and the indexes are created in a subtransaction that is rolled
 * back.  They are created by calls of the functions behind CREATE TABLE and
 * CREATE INDEX, so that no event trigger fires.
 *
 * The comparison cannot run within a build, which must not create temporary
 * tables.  So it runs before a command that creates an index, or after a SET
 * that enables the setting, but only if the command is a transaction of its
 * own: nothing else can see the table and the indexes that are created and
 * rolled back there.  In a transaction block, a session has to call
 * pg_pardump_compare_builds() first.
 *
 * For a small table the comparison takes longer than the server's own build,
 * so only a command for a larger table starts it.
 *
 * A client whose database does not contain the extension's functions can
 * start the comparison with SET, and read the result from a second setting.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/table.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "commands/tablecmds.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/parsenodes.h"
#include "storage/bufmgr.h"
#include "tcop/utility.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/rel.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
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

/* The size of the smallest table that starts the comparison: 8 MB. */
#define LARGE_TABLE_BLOCKS (8 * 1024 * 1024 / BLCKSZ)

/* The result of the comparison in this session. */
static enum
{
	NOT_COMPARED,
	CANNOT_COMPARE,
	SAME,
	DIFFERENT
}			state = NOT_COMPARED;

/* Is a comparison running, and who builds its next index? */
static bool comparing = false;
static IndexBuildMode compared_mode;

static bool fast_index = false; /* the setting */
static char *fast_index_reason = NULL;	/* never set, see show_reason() */
static ProcessUtility_hook_type previous_hook = NULL;

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

		compared_mode = INDEX_BUILD_SERVER;
		servers = create_index(relid, &definitions[i]);
		compared_mode = INDEX_BUILD_FAST;
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
		comparing = true;
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
	comparing = false;
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

	if (state == SAME || state == DIFFERENT || comparing)
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

/* ----------
 * The settings, and the hook that starts the comparison
 * ----------
 */

/*
 * Decide who builds the next index: during the comparison, its current
 * builder; otherwise the setting and the result of the comparison decide.
 */
static IndexBuildMode
build_mode(const char **reason)
{
	if (comparing)
		return compared_mode;
	if (!fast_index)
		return INDEX_BUILD_SERVER;
	*reason = index_compare_reason();
	return *reason == NULL ? INDEX_BUILD_FAST : INDEX_BUILD_LEFT;
}

/* Does ALTER TABLE add a constraint that needs a new index? */
static bool
adds_index(const AlterTableStmt *statement)
{
	ListCell   *cell;

	foreach(cell, statement->cmds)
	{
		const AlterTableCmd *command = lfirst_node(AlterTableCmd, cell);
		const Constraint *constraint = (const Constraint *) command->def;

		if (command->subtype == AT_AddConstraint && constraint != NULL &&
			IsA(constraint, Constraint) && constraint->indexname == NULL &&
			(constraint->contype == CONSTR_PRIMARY ||
			 constraint->contype == CONSTR_UNIQUE))
			return true;
	}
	return false;
}

/* Return the table on which a command creates an index, or NULL. */
static const RangeVar *
indexed_table(const Node *statement)
{
	if (IsA(statement, IndexStmt))
	{
		const IndexStmt *create = (const IndexStmt *) statement;

		return create->concurrent ? NULL : create->relation;
	}
	if (IsA(statement, AlterTableStmt))
	{
		const AlterTableStmt *alter = (const AlterTableStmt *) statement;

		return adds_index(alter) ? alter->relation : NULL;
	}
	return NULL;
}

/* May the current user create indexes on this table?  Only its owner may. */
static bool
is_owned(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	bool		owned;

	if (!HeapTupleIsValid(tuple))
		return false;
	owned = has_privs_of_role(GetUserId(),
							  ((Form_pg_class) GETSTRUCT(tuple))->relowner);
	ReleaseSysCache(tuple);
	return owned;
}

/*
 * Is a table so large that the comparison is worth its time?  The sizes of
 * partitions are not read, so a partitioned table counts as large.
 *
 * Like the command, this locks the table only after it has checked
 * privileges.  Otherwise a user without privileges would wait for a lock
 * instead of getting the command's error.
 */
static bool
is_large(const RangeVar *name)
{
	Oid			relid = RangeVarGetRelid(name, NoLock, true);
	Relation	rel = OidIsValid(relid) && is_owned(relid) ?
		try_relation_open(relid, AccessShareLock) : NULL;
	bool		large = false;

	if (rel == NULL)
		return false;
	if (rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		large = name->inh;
	else if (RELKIND_HAS_TABLE_AM(rel->rd_rel->relkind) &&
			 !RELATION_IS_OTHER_TEMP(rel))
		large = RelationGetNumberOfBlocks(rel) >= LARGE_TABLE_BLOCKS;

	/*
	 * The command takes a stronger lock.  If it did so while holding this
	 * one, two sessions could wait for each other.
	 */
	relation_close(rel, AccessShareLock);
	return large;
}

/* Is this a SET of the setting for the session?  Its value is not tested. */
static bool
switches_on(const Node *statement)
{
	const		VariableSetStmt *set = (const VariableSetStmt *) statement;

	return IsA(statement, VariableSetStmt) && set->kind == VAR_SET_VALUE &&
		!set->is_local && pg_strcasecmp(set->name, FAST_INDEX_SETTING) == 0;
}

/*
 * Can builds be compared here, and has that not been done yet?  A snapshot of
 * the whole transaction must not exist, and nothing else may be part of the
 * transaction.
 */
static bool
may_compare(ProcessUtilityContext context)
{
	return fast_index && state == NOT_COMPARED && !comparing &&
		context == PROCESS_UTILITY_TOPLEVEL && !XactReadOnly &&
		!IsInTransactionBlock(true) && !IsolationUsesXactSnapshot();
}

/* The hook that the server calls for each utility command. */
static void
process_utility(PlannedStmt *statement, const char *query, bool read_only_tree,
				ProcessUtilityContext context, ParamListInfo params,
				QueryEnvironment *env, DestReceiver *dest,
				QueryCompletion *completion)
{
	bool		switched_on = switches_on(statement->utilityStmt);
	const RangeVar *table = indexed_table(statement->utilityStmt);

	if (table != NULL && may_compare(context) && is_large(table))
		index_compare_run();
	(previous_hook ? previous_hook : standard_ProcessUtility)
		(statement, query, read_only_tree, context, params, env, dest,
		 completion);
	if (switched_on && may_compare(context))
		index_compare_run();
}

/* The show hook of the second setting, which cannot be changed. */
static const char *
show_reason(void)
{
	const char *reason = index_build_unsupported();

	if (reason == NULL)
		reason = index_compare_reason();
	return reason == NULL ? "" : reason;
}

void
index_hook_install(void)
{
	DefineCustomBoolVariable(FAST_INDEX_SETTING,
							 "Lets pg_pardump build btree indexes, faster.",
							 "Only those that are the same as the server's; the rest is left to the server.",
							 &fast_index,
							 false,
							 PGC_USERSET,
							 0,
							 NULL, NULL, NULL);
	DefineCustomStringVariable(FAST_INDEX_REASON_SETTING,
							   "Shows why pg_pardump builds no index in the session.",
							   "Empty if it may build indexes.",
							   &fast_index_reason,
							   "",
							   PGC_INTERNAL,
							   GUC_NOT_IN_SAMPLE | GUC_DISALLOW_IN_FILE,
							   NULL, NULL, show_reason);
	/* hooks need not be removed, as the server never unloads a library */
	index_build_install(build_mode);
	previous_hook = ProcessUtility_hook;
	ProcessUtility_hook = process_utility;
}
