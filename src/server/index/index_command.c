/*-------------------------------------------------------------------------
 *
 * index_command.c
 *	  Builds indexes faster, where a session asks for it: the setting, and
 *	  the hook that has builds compared with the server's before the first.
 *
 * The comparison cannot run within a build, which must not create temporary
 * tables.  So it runs before a command that creates an index, or after SET of
 * the setting, if the command is a transaction of its own: what is done and
 * rolled back there cannot be seen by anything else.  Elsewhere a session has
 * to call pg_pardump_compare_builds() first.
 *
 * A client whose database does not have the extension's functions can only
 * have the comparison run by SET, and read its outcome from a second setting.
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
static char *fast_index_reason = NULL;	/* never set: see show_reason() */
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

/* Does it switch the setting on, for the session? */
static bool
switches_on(const Node *statement)
{
	const		VariableSetStmt *set = (const VariableSetStmt *) statement;

	return IsA(statement, VariableSetStmt) && set->kind == VAR_SET_VALUE &&
		!set->is_local && pg_strcasecmp(set->name, FAST_INDEX_SETTING) == 0;
}

/* Can builds be compared here, and has that not been done yet? */
static bool
may_compare(ProcessUtilityContext context)
{
	return fast_index && index_compare_wanted() &&
		context == PROCESS_UTILITY_TOPLEVEL && !XactReadOnly &&
		!IsInTransactionBlock(true) && !IsolationUsesXactSnapshot();
}

static void
process_utility(PlannedStmt *statement, const char *query, bool read_only_tree,
				ProcessUtilityContext context, ParamListInfo params,
				QueryEnvironment *env, DestReceiver *dest,
				QueryCompletion *completion)
{
	bool		switched_on = switches_on(statement->utilityStmt);

	if (creates_index(statement->utilityStmt) && may_compare(context))
		index_compare_run();
	(previous_hook ? previous_hook : standard_ProcessUtility)
		(statement, query, read_only_tree, context, params, env, dest,
		 completion);
	if (switched_on && may_compare(context))
		index_compare_run();
}

/* A show hook of a setting, which cannot be set. */
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
	/* a hook cannot be removed: the library stays loaded */
	index_build_install(build_mode);
	previous_hook = ProcessUtility_hook;
	ProcessUtility_hook = process_utility;
}
