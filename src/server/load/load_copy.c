/*-------------------------------------------------------------------------
 *
 * load_copy.c
 *	  COPY ... FROM STDIN in text format, done faster.
 *
 * The last part of the file is the hook that sees each utility command and
 * takes a COPY that can be done here.  load_copy() does what DoCopy() does
 * (src/backend/commands/copy.c), and load_rows() what CopyFrom() does
 * (copyfrom.c), for the tables that load_check.c has let pass.  Beginning and
 * end of the COPY are the server's own, so that its state is what the
 * server's parser and error context need: row_reader.c goes over to these
 * where a line is unusual.
 *
 * Rows, indexes, errors and their order are to be the same as those of the
 * server.  So a reason to leave a COPY to the server is looked for as long as
 * no byte of the data has been read, and everything that could tell the two
 * apart is such a reason.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "commands/copy.h"
#include "commands/copyfrom_internal.h"
#include "executor/executor.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "parser/parse_node.h"
#include "tcop/cmdtag.h"
#include "tcop/dest.h"
#include "tcop/tcopprot.h"
#include "tcop/utility.h"
#include "utils/guc.h"
#include "utils/portal.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/snapmgr.h"

#include "base/server_compat.h"
#include "load/load_check.h"
#include "load/load_copy.h"
#include "load/row_reader.h"
#include "load/tuple_batch.h"

/* One COPY.  All of it dies with the statement's memory and resources. */
typedef struct Load
{
	Relation	rel;			/* borrowed */
	EState	   *estate;
	ResultRelInfo *target;
	TupleTableSlot *row;		/* the values of the row that was read */
	RowReader  *reader;
	TupleBatch *batch;
} Load;

/* Is it what was asked for, in COPY's state? */
static bool
is_expected_command(CopyFromState cstate, Relation rel,
					const CopyStmt *statement)
{
	return cstate->opts.freeze == load_check_freezes(statement) &&
		cstate->copy_src == COPY_FRONTEND &&
		cstate->rel == rel &&
		cstate->attnumlist != NIL &&
		cstate->filename == NULL &&
		!cstate->is_program &&
		cstate->data_source_cb == NULL &&
		strcmp(cstate->opts.delim, "\t") == 0 &&
		strcmp(cstate->opts.null_print, "\\N") == 0 &&
		cstate->whereClause == NULL &&
		cstate->num_defaults >= 0 &&
		cstate->num_defaults <= RelationGetNumberOfAttributes(rel) &&
		cstate->range_table != NIL &&
		cstate->qualexpr == NULL &&
		cstate->transition_capture == NULL;
}

/* Is COPY's input still unread, and in the database's encoding? */
static bool
is_at_start(CopyFromState cstate)
{
	return cstate->fe_msgbuf != NULL &&
		cstate->fe_msgbuf->len == 0 &&
		cstate->eol_type == EOL_UNKNOWN &&
		cstate->file_encoding == GetDatabaseEncoding() &&
		!cstate->need_transcoding &&
		cstate->input_buf != NULL &&
		cstate->input_buf == cstate->raw_buf &&
		cstate->input_buf_index == 0 &&
		cstate->input_buf_len == 0 &&
		!cstate->input_reached_eof &&
		!cstate->input_reached_error &&
		cstate->raw_buf_index == 0 &&
		cstate->raw_buf_len == 0 &&
		!cstate->raw_reached_eof &&
		cstate->bytes_processed == 0;
}

static bool
is_empty(const StringInfoData *buf)
{
	return buf->data != NULL && buf->data[0] == '\0' && buf->len == 0 &&
		buf->maxlen > 0 && buf->cursor == 0;
}

/*
 * Does COPY's state have the layout that this file was compiled for?  Such
 * structs keep their layout in the minor releases of a major.  If one did
 * not, wrong rows would be loaded, so each member that is used here and in
 * row_reader.c and copy_stream.c is checked.
 */
static bool
is_as_expected(CopyFromState cstate, Relation rel, const CopyStmt *statement)
{
	return is_expected_command(cstate, rel, statement) &&
		cstate->cur_relname == RelationGetRelationName(rel) &&
		cstate->cur_lineno == 0 &&
		cstate->cur_attname == NULL &&
		cstate->cur_attval == NULL &&
		is_empty(&cstate->attribute_buf) &&
		is_empty(&cstate->line_buf) &&
		!cstate->line_buf_valid &&
		is_at_start(cstate);
}

/*
 * Why the server has to do the rest of a COPY that has begun: what is known
 * only now, or must not be looked at before permission was given, as it makes
 * the server compute constants in expressions of others.
 */
static const char *
why_not_from_here(CopyFromState cstate, Relation rel,
				  const CopyStmt *statement)
{
	ListCell   *cell;

	if (!is_as_expected(cstate, rel, statement))
		return "its state is not the one of this release";
	/* a function may have been inlined */
	if (cstate->volatile_defexprs)
		return "a missing column's default is volatile";
	foreach(cell, cstate->attnumlist)
	{
		if (load_type_is_volatile(TupleDescAttr(RelationGetDescr(rel),
												lfirst_int(cell) - 1)->atttypid))
			return "a type's input function or constraint is volatile";
	}
	return NULL;
}

/* Does the row have a NULL in a column that is declared NOT NULL? */
static inline bool
has_forbidden_null(TupleDesc tupdesc, const bool *isnull)
{
	for (int i = 0; i < tupdesc->natts; i++)
	{
		if (unlikely(isnull[i]) && TupleDescAttr(tupdesc, i)->attnotnull)
			return true;
	}
	return false;
}

/*
 * Raise an error if the row does not fit the table's constraints.
 *
 * ExecConstraints() goes through all columns for NOT NULL, and through the
 * CHECK constraints.  For a table without the latter it is only called where
 * it will find a NULL, and report it.  A row that is loaded into a partition
 * itself has to fit the partition, as in CopyFrom().
 */
static inline void
check_constraints(Load *load)
{
	TupleDesc	tupdesc = RelationGetDescr(load->rel);
	const TupleConstr *constr = tupdesc->constr;

	if (constr != NULL &&
		(constr->num_check > 0 ||
		 (constr->has_not_null &&
		  has_forbidden_null(tupdesc, load->row->tts_isnull))))
		ExecConstraints(load->target, load->row, load->estate);
	if (load->rel->rd_rel->relispartition)
		ExecPartitionCheck(load->target, load->row, load->estate, true);
}

/* Read, check and insert all rows. */
static void
load_rows(Load *load)
{
	ExprContext *econtext = GetPerTupleExprContext(load->estate);
	TupleTableSlot *row = load->row;
	MemoryContext query_context = CurrentMemoryContext;
	Size		line_len;

	for (;;)
	{
		bool		found;

		CHECK_FOR_INTERRUPTS();

		/*
		 * The values of the last row go with the per-tuple context.  The
		 * batch has copied them.
		 */
		ResetPerTupleExprContext(load->estate);
		ExecClearTuple(row);

		MemoryContextSwitchTo(GetPerTupleMemoryContext(load->estate));
		found = row_reader_next(load->reader, econtext, row->tts_values,
								row->tts_isnull, &line_len);
		MemoryContextSwitchTo(query_context);
		if (!found)
			break;

		/* constraints may look at tableoid */
		ExecStoreVirtualTuple(row);
		row->tts_tableOid = RelationGetRelid(load->rel);
		check_constraints(load);
		tuple_batch_add(load->batch, row->tts_values, row->tts_isnull,
						line_len);
	}
}

/*
 * Raise an error unless rows may be inserted frozen.  Frozen rows are visible
 * to all snapshots at once, so no snapshot of this session may be older than
 * the table's file, and the file must go if the transaction fails.  The rules
 * are those of CopyFrom().
 */
static void
check_freeze(Relation rel)
{
	/* else a snapshot that the catalogs were read with would count */
	InvalidateCatalogSnapshot();
	if (!ThereAreNoPriorRegisteredSnapshots() || !ThereAreNoReadyPortals())
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TRANSACTION_STATE),
				 errmsg("cannot perform COPY FREEZE because of prior transaction activity")));
	if (!relation_is_of_subtransaction(rel))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot perform COPY FREEZE because the table was not created or truncated in the current subtransaction")));
}

/* As CopyFrom(), for what there can be. */
static uint64
load_from(CopyFromState cstate)
{
	Load		load;
	MemoryContext old_context;
	ErrorContextCallback error_callback;
	uint64		n_rows;

	/* before anything of the table is opened, as CopyFrom() does it */
	load.rel = cstate->rel;
	if (cstate->opts.freeze)
		check_freeze(load.rel);
	load.estate = CreateExecutorState();
	old_context = MemoryContextSwitchTo(load.estate->es_query_cxt);

	/*
	 * The executor's part of a COPY: a range table whose first relation is
	 * the target, and the indexes of that.  Constraints and indexes find what
	 * they need there.
	 */
	init_copy_range_table(load.estate, cstate);
	load.target = new_result_rel_info();
	ExecInitResultRelation(load.estate, load.target, 1);
	ExecOpenIndices(load.target, false);
	load.row = MakeSingleTupleTableSlot(RelationGetDescr(load.rel),
										&TTSOpsVirtual);
	load.reader = row_reader_new(cstate);
	load.batch = tuple_batch_new(cstate, load.estate, load.target);

	/* errors of the last batch have the context of COPY, too */
	error_callback.callback = row_reader_error_context;
	error_callback.arg = load.reader;
	error_callback.previous = error_context_stack;
	error_context_stack = &error_callback;
	load_rows(&load);
	n_rows = tuple_batch_end(load.batch);
	error_context_stack = error_callback.previous;

	MemoryContextSwitchTo(old_context);
	ExecDropSingleTupleTableSlot(load.row);
	ExecCloseResultRelations(load.estate);
	ExecCloseRangeTableRelations(load.estate);
	FreeExecutorState(load.estate);
	return n_rows;
}

/*
 * Do a COPY that load_check.h has found to be one of ours: check permissions,
 * ask the client for the data and insert it, or let the server do that, if a
 * reason is found now.  The relation is open and locked (ROW EXCLUSIVE).
 * Returns how many rows were inserted.  Errors are those of COPY, with its
 * context.
 */
static uint64
load_copy(ParseState *pstate, Relation rel, const CopyStmt *statement)
{
	CopyFromState cstate;
	const char *reason;
	uint64		n_rows;

	/*
	 * Permissions come first, as in DoCopy(): BeginCopyFrom() asks the client
	 * for the data, and computes constants in defaults.
	 */
	check_insert_permissions(pstate, rel,
							 CopyGetAttnums(RelationGetDescr(rel), rel,
											statement->attlist));
	cstate = BeginCopyFrom(pstate, rel, NULL, NULL, false, NULL,
						   statement->attlist, statement->options);
	reason = why_not_from_here(cstate, rel, statement);
	load_check_report(RelationGetRelationName(rel), reason);
	/* nothing has been read, so that the server's COPY begins as usual */
	if (reason == NULL)
		n_rows = load_from(cstate);
	else
		n_rows = CopyFrom(cstate);
	EndCopyFrom(cstate);
	return n_rows;
}

/* ----------
 * Takes COPY FROM STDIN over from the server, where a session asks for it.
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
 * ----------
 */

static bool fast_copy = false;
static ProcessUtility_hook_type previous_hook = NULL;

/* Can the statement be done here, as far as is known without the table? */
static bool
is_for_us(const Node *statement, ProcessUtilityContext context)
{
	if (!fast_copy || context != PROCESS_UTILITY_TOPLEVEL ||
		!load_check_statement(statement))
		return false;

	/*
	 * What is not allowed there is an error of the server's.  Data comes from
	 * the client of a connection only, not from that of single-user mode.
	 */
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
	/* as standard_ProcessUtility() passes it to DoCopy() */
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
	/* a hook cannot be removed: the library stays loaded */
	previous_hook = ProcessUtility_hook;
	ProcessUtility_hook = process_utility;
}
