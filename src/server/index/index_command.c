/*-------------------------------------------------------------------------
 *
 * index_command.c
 *	  The setting that lets the extension build indexes, and the hook that
 *	  compares its builds with the server's before the first one.
 *
 * load_function.c installs both when the library is loaded.
 *
 * The comparison (index_compare.c) cannot run within a build, which must not
 * create temporary tables.  So it runs before a command that creates an
 * index, or after a SET that enables the setting, but only if the command is
 * a transaction of its own: nothing else can see the table and the indexes
 * that are created and rolled back there.  In a transaction block, a session
 * has to call pg_pardump_compare_builds() first.
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
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "storage/bufmgr.h"
#include "tcop/utility.h"
#include "utils/guc.h"
#include "utils/rel.h"

#include "index/index_build.h"
#include "index/index_command.h"
#include "index/index_compare.h"

/* The size of the smallest table that starts the comparison: 8 MB. */
#define LARGE_TABLE_BLOCKS (8 * 1024 * 1024 / BLCKSZ)

static bool fast_index = false;
static char *fast_index_reason = NULL;	/* never set, see show_reason() */
static ProcessUtility_hook_type previous_hook = NULL;

/*
 * Decide who builds the next index: during the comparison, its current
 * builder; otherwise the setting and the result of the comparison decide.
 */
static IndexBuildMode
build_mode(const char **reason)
{
	switch (index_compare_builder())
	{
		case INDEX_COMPARE_SERVER:
			return INDEX_BUILD_SERVER;
		case INDEX_COMPARE_FAST:
			return INDEX_BUILD_FAST;
		case INDEX_COMPARE_NOT_RUNNING:
			break;
	}
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

/*
 * Is a table so large that the comparison is worth its time?  The sizes of
 * partitions are not read, so a partitioned table counts as large.
 */
static bool
is_large(const RangeVar *name)
{
	Oid			relid = RangeVarGetRelid(name, NoLock, true);
	Relation	rel = OidIsValid(relid) ?
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
	 * The lock is released because the command takes a stronger one, but only
	 * after it has checked privileges.
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
	return fast_index && index_compare_wanted() &&
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
