/*-------------------------------------------------------------------------
 *
 * load_hook.c
 *	  Takes COPY FROM STDIN over from the server, where a session asks for it.
 *
 * Hooks on utility commands form a chain: the library that was loaded last is
 * called first and calls the one before it, and the first calls the server.
 * If we do a COPY, hooks behind ours do not see it, so we do it only if there
 * is none: hooks of libraries that are loaded later have called ours.  With
 * shared_preload_libraries = 'pg_pardump, pg_stat_statements' the statement
 * is counted, and we do it.
 *
 * No library may be behind ours, whichever it is: its hook calls the server
 * itself, and nothing lets us do the COPY within that call.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "parser/parse_node.h"
#include "tcop/cmdtag.h"
#include "tcop/dest.h"
#include "tcop/tcopprot.h"
#include "tcop/utility.h"
#include "utils/guc.h"
#include "utils/rel.h"

#include "load/load_check.h"
#include "load/load_copy.h"
#include "load/load_hook.h"

static bool fast_copy = false;
static ProcessUtility_hook_type previous_hook = NULL;

/* Is it a statement for us, as far as one can tell without the table? */
static bool
is_for_us(const Node *statement, ProcessUtilityContext context)
{
	if (!fast_copy || context != PROCESS_UTILITY_TOPLEVEL ||
		!load_check_statement(statement))
		return false;
	/* what is not allowed there is an error of the server's */
	if (whereToSendOutput != DestRemote || XactReadOnly ||
		IsInParallelMode() || RecoveryInProgress())
		return false;
	if (previous_hook != NULL)
	{
		load_check_report(((const CopyStmt *) statement)->relation->relname,
						  "another library's hook is behind ours");
		return false;
	}
	return true;
}

/* Do the COPY unless it is one for the server.  Returns whether we did. */
static bool
do_copy(const CopyStmt *statement, const char *query, QueryEnvironment *env,
		QueryCompletion *completion)
{
	Relation	rel = table_openrv(statement->relation, RowExclusiveLock);
	const char *reason = load_check_relation(rel, statement);
	ParseState *pstate;
	uint64		n_rows;

	if (reason != NULL)
	{
		load_check_report(RelationGetRelationName(rel), reason);
		table_close(rel, NoLock);
		return false;
	}
	pstate = make_parsestate(NULL);
	pstate->p_sourcetext = query;
	pstate->p_queryEnv = env;
	n_rows = load_copy(pstate, rel, statement);
	table_close(rel, NoLock);
	if (completion != NULL)
		SetQueryCompletion(completion, CMDTAG_COPY, n_rows);
	free_parsestate(pstate);

	/* as standard_ProcessUtility() does at its end */
	CommandCounterIncrement();
	return true;
}

static void
process_utility(PlannedStmt *statement, const char *query, bool read_only_tree,
				ProcessUtilityContext context, ParamListInfo params,
				QueryEnvironment *env, DestReceiver *dest,
				QueryCompletion *completion)
{
	if (is_for_us(statement->utilityStmt, context) &&
		do_copy((const CopyStmt *) statement->utilityStmt, query, env,
				completion))
		return;
	(previous_hook ? previous_hook : standard_ProcessUtility)
		(statement, query, read_only_tree, context, params, env, dest,
		 completion);
}

void
load_hook_install(void)
{
	DefineCustomBoolVariable(FAST_COPY_SETTING,
							 "Lets pg_pardump do COPY FROM STDIN, faster.",
							 "Only what it does exactly as the server; the rest is left to the server.",
							 &fast_copy,
							 false,
							 PGC_USERSET,
							 0,
							 NULL, NULL, NULL);
	previous_hook = ProcessUtility_hook;
	ProcessUtility_hook = process_utility;
}
