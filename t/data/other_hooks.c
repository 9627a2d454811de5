/*
 * other_hooks.c
 *		A library like one of another vendor, with two hooks and a table access
 *		method.
 *
 * The hooks log their calls: for utility commands, and for the permissions of
 * a statement, which the library refuses with other_hooks.refuse = on.  The
 * access method has the functions of heap, but is not heap.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/tableam.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "tcop/utility.h"
#include "utils/guc.h"

PG_MODULE_MAGIC;
PGDLLEXPORT void _PG_init(void);

static bool refuse;
static ProcessUtility_hook_type previous;

static bool
check_permissions(List *range_table,
#if PG_VERSION_NUM >= 160000
				  List *needed,
#endif
				  bool raise)
{
	elog(DEBUG1, "other hook: permissions on %d table", list_length(range_table));
	if (refuse && raise)
		ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
						errmsg("refused by the other hook")));
	return !refuse;
}

static void
utility(PlannedStmt *statement, const char *query, bool read_only_tree,
		ProcessUtilityContext context, ParamListInfo params,
		QueryEnvironment *env, DestReceiver *dest, QueryCompletion *completion)
{
	if (IsA(statement->utilityStmt, CopyStmt))
		elog(DEBUG1, "other hook: a utility command");
	(previous ? previous : standard_ProcessUtility)
		(statement, query, read_only_tree, context, params, env, dest, completion);
}

void
_PG_init(void)
{
	DefineCustomBoolVariable("other_hooks.refuse", "Refuses.", NULL, &refuse,
							 false, PGC_USERSET, 0, NULL, NULL, NULL);
	previous = ProcessUtility_hook;
	ProcessUtility_hook = utility;
	ExecutorCheckPerms_hook = check_permissions;
}

PG_FUNCTION_INFO_V1(other_access_method);

Datum
other_access_method(PG_FUNCTION_ARGS)
{
	static TableAmRoutine routine;

	routine = *GetHeapamTableAmRoutine();
	PG_RETURN_POINTER(&routine);
}
