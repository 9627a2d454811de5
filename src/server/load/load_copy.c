/*-------------------------------------------------------------------------
 *
 * load_copy.c
 *	  Executes COPY ... FROM STDIN in text format instead of the server, in
 *	  less time.
 *
 * load_function.c installs the hook, which is the last part of this file.
 * The server calls it for each utility command.  If the command is a COPY
 * that load_check.c accepts, load_copy() executes it.
 *
 * load_copy() does the work of DoCopy() (src/backend/commands/copy.c), and
 * load_from() that of CopyFrom() (copyfrom.c).  Parsing of lines
 * (row_reader.c), input of values (types/) and forming of tuples
 * (tuple_batch.c) take less time than in the server.  The server's own
 * functions begin and end the COPY, so that its state contains everything
 * that the server's parser and error context need: row_reader.c lets that
 * parser read unusual lines.
 *
 * Rows, indexes, errors and the order of errors must be the same as those of
 * the server.  So everything that could make a difference is a reason to let
 * the server execute the COPY.  All reasons are checked before any data is
 * read, as the server cannot read it again.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/xlog.h"
#include "commands/copy.h"
#include "mb/pg_wchar.h"
#include "tcop/cmdtag.h"
#include "tcop/dest.h"
#include "tcop/tcopprot.h"
#include "tcop/utility.h"
#include "utils/guc.h"
#include "utils/portal.h"
#include "utils/snapmgr.h"

#include "base/server_compat.h"
#include "load/load_check.h"
#include "load/load_copy.h"
#include "load/row_reader.h"
#include "load/tuple_batch.h"

/*
 * One COPY.  After an error, the memory and the resources of the statement
 * are released, and with them all of this.
 */
typedef struct Load
{
	Relation	rel;			/* borrowed */
	EState	   *estate;
	ResultRelInfo *target;
	TupleTableSlot *row;		/* the values of the row that was read */
	RowReader  *reader;
	TupleBatch *batch;
} Load;

/* Does COPY's state describe the statement that is being executed? */
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

/* Is this a buffer that was initialized, and not used yet? */
static bool
is_empty(const StringInfoData *buf)
{
	return buf->data != NULL && buf->data[0] == '\0' && buf->len == 0 &&
		buf->maxlen > 0 && buf->cursor == 0;
}

/*
 * Does COPY's state have the layout for which this file was compiled?  Such
 * structs keep their layout in the minor releases of a major version.  If a
 * release changed one, wrong rows would be loaded, so each member that is
 * used here, in row_reader.c and in copy_stream.c is compared with its
 * expected value.
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
 * Return why the server has to execute the rest of a COPY that has begun, or
 * NULL.  These reasons are only known now, or must not be looked for before
 * privileges were checked: to find them, the server evaluates constant
 * expressions that belong to other roles.
 */
static const char *
why_not_from_here(CopyFromState cstate, Relation rel,
				  const CopyStmt *statement)
{
	ListCell   *cell;

	if (!is_as_expected(cstate, rel, statement))
		return "its state is not the one of this release";
	/* checked again, as inlining a function can reveal a volatile one */
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
 * Raise an error if the row violates a constraint of the table.
 *
 * ExecConstraints() checks NOT NULL for all columns, and CHECK constraints.
 * For a table without CHECK constraints, it is only called to report a NULL
 * that has been found here.  If the table is a partition, the row must match
 * the partition constraint, as in CopyFrom().
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
		 * Free the values of the last row, which are in the per-tuple
		 * context.  The batch has copied them.
		 */
		ResetPerTupleExprContext(load->estate);
		ExecClearTuple(row);

		MemoryContextSwitchTo(GetPerTupleMemoryContext(load->estate));
		found = row_reader_next(load->reader, econtext, row->tts_values,
								row->tts_isnull, &line_len);
		MemoryContextSwitchTo(query_context);
		if (!found)
			break;

		/* constraints may refer to tableoid */
		ExecStoreVirtualTuple(row);
		row->tts_tableOid = RelationGetRelid(load->rel);
		check_constraints(load);
		tuple_batch_add(load->batch, row->tts_values, row->tts_isnull,
						line_len);
	}
}

/*
 * Raise an error unless rows may be inserted frozen.  Frozen rows are visible
 * to all snapshots immediately.  So this session must not have a snapshot
 * that is older than the table's file, and a rollback must remove the file.
 * The rules are those of CopyFrom().
 */
static void
check_freeze(Relation rel)
{
	/* otherwise the snapshot for reading catalogs would count */
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

/*
 * Load all rows and return their number.  This is CopyFrom() without the
 * cases that load_check.c leaves to the server.
 */
static uint64
load_from(CopyFromState cstate)
{
	Load		load;
	MemoryContext old_context;
	ErrorContextCallback error_callback;
	uint64		n_rows;

	/* like CopyFrom(), check this before anything of the table is opened */
	load.rel = cstate->rel;
	if (cstate->opts.freeze)
		check_freeze(load.rel);
	load.estate = CreateExecutorState();
	old_context = MemoryContextSwitchTo(load.estate->es_query_cxt);

	/*
	 * The functions for constraints and indexes need an executor state: a
	 * range table whose first relation is the target, and its open indexes.
	 */
	init_copy_range_table(load.estate, cstate);
	load.target = new_result_rel_info();
	ExecInitResultRelation(load.estate, load.target, 1);
	ExecOpenIndices(load.target, false);
	load.row = MakeSingleTupleTableSlot(RelationGetDescr(load.rel),
										&TTSOpsVirtual);
	load.reader = row_reader_new(cstate);
	load.batch = tuple_batch_new(cstate, load.estate, load.target);

	/* errors have the context of COPY, also those of the last batch */
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
 * Execute a COPY that load_check.c has accepted: check privileges, request
 * the data from the client, and insert it.  If a reason is found now, the
 * server inserts the data.  The relation is open and locked (ROW EXCLUSIVE).
 * Returns the number of inserted rows.  Errors are those of COPY, with its
 * context.
 */
static uint64
load_copy(ParseState *pstate, Relation rel, const CopyStmt *statement)
{
	CopyFromState cstate;
	const char *reason;
	uint64		n_rows;

	/*
	 * Privileges are checked first, as in DoCopy(): BeginCopyFrom() requests
	 * the data from the client, and evaluates constants in defaults.
	 */
	check_insert_permissions(pstate, rel,
							 CopyGetAttnums(RelationGetDescr(rel), rel,
											statement->attlist));
	cstate = BeginCopyFrom(pstate, rel, NULL, NULL, false, NULL,
						   statement->attlist, statement->options);
	reason = why_not_from_here(cstate, rel, statement);
	load_check_report(RelationGetRelationName(rel), reason);
	/* no data has been read, so the server's COPY works as usual */
	if (reason == NULL)
		n_rows = load_from(cstate);
	else
		n_rows = CopyFrom(cstate);
	EndCopyFrom(cstate);
	return n_rows;
}

/* ----------
 * Takes over COPY FROM STDIN from the server, if the session has enabled
 * this.
 *
 * Hooks on utility commands form a chain: the library that was loaded last is
 * called first and calls the one before it, and the first library calls the
 * server.  If this hook executes a COPY, the hooks of libraries that were
 * loaded before are not called.  So it does that only if there are none.
 * Hooks of libraries that were loaded later have called this one, and are not
 * affected: with shared_preload_libraries = 'pg_pardump, pg_stat_statements',
 * the extension executes the statement and pg_stat_statements counts it.
 *
 * It does not matter which library was loaded before: its hook calls the
 * server itself, and the extension cannot execute the COPY within that call.
 * ----------
 */

static bool fast_copy = false;
static ProcessUtility_hook_type previous_hook = NULL;

/* Can the extension execute the statement, as far as the table is unknown? */
static bool
is_for_us(const Node *statement, ProcessUtilityContext context)
{
	if (!fast_copy || context != PROCESS_UTILITY_TOPLEVEL ||
		!load_check_statement(statement))
		return false;

	/*
	 * The server raises the errors for commands that are not allowed in these
	 * states.  In single-user mode, data does not come in messages.
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

/*
 * Execute the COPY, and return true.  Returns false if the server has to
 * execute it.
 */
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
	/* the same state that standard_ProcessUtility() passes to DoCopy() */
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

/* The hook that the server calls for each utility command. */
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
	/* the hook need not be removed, as the server never unloads a library */
	previous_hook = ProcessUtility_hook;
	ProcessUtility_hook = process_utility;
}
