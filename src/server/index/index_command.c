/*-------------------------------------------------------------------------
 *
 * index_command.c
 *	  Builds indexes faster, where a session asks for it: the setting, and
 *	  the hook that has builds compared with the server's before the first.
 *
 * The comparison cannot run within a build, which must not create temporary
 * tables.  So it runs before a command that creates an index, if the command
 * is a transaction of its own: what is done and rolled back before it cannot
 * be seen by anything else.  Elsewhere a session has to call
 * pg_pardump_compare_builds() first.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "tcop/utility.h"
#include "utils/guc.h"

#include "index/index_build.h"
#include "index/index_command.h"
#include "index/index_compare.h"

static bool fast_index = false;
static ProcessUtility_hook_type previous_hook = NULL;

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

static bool
creates_index(const Node *statement)
{
	if (IsA(statement, IndexStmt))
		return !((const IndexStmt *) statement)->concurrent;
	return IsA(statement, AlterTableStmt) &&
		adds_index((const AlterTableStmt *) statement);
}

static void
process_utility(PlannedStmt *statement, const char *query, bool read_only_tree,
				ProcessUtilityContext context, ParamListInfo params,
				QueryEnvironment *env, DestReceiver *dest,
				QueryCompletion *completion)
{
	if (fast_index && index_compare_wanted() &&
		context == PROCESS_UTILITY_TOPLEVEL &&
		creates_index(statement->utilityStmt) &&
		!IsInTransactionBlock(true) && !IsolationUsesXactSnapshot())
		index_compare_run();
	(previous_hook ? previous_hook : standard_ProcessUtility)
		(statement, query, read_only_tree, context, params, env, dest,
		 completion);
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
	/* a hook cannot be removed: the library stays loaded */
	index_build_install(build_mode);
	previous_hook = ProcessUtility_hook;
	ProcessUtility_hook = process_utility;
}
