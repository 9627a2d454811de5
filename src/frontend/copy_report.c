/*
 * copy_report.c
 *		Adds up what the workers did.
 */
#include "fe_compat.h"

#include "pqexpbuffer.h"

#include "cleanup.h"
#include "copy_report.h"
#include "printable.h"

/* Tables named in the account of a failure. */
#define TABLES_SHOWN 10

/* Of a table, or of all. */
typedef struct CopyTotals
{
	uint64		rows;
	uint64		bytes;
	bool		complete;
} CopyTotals;

static CopyTotals
totals_of_table(const CopyContext *context, int no)
{
	const TablePlan *table = &context->source.plan->tables[no];
	CopyTotals	totals = {.complete = true};

	for (int i = 0; i < table->n_files; i++)
	{
		const CopyProgress *file = &context->files[table->first_file + i];

		if (file->state != COPY_STATE_DONE)
		{
			totals.complete = false;
			continue;
		}
		totals.rows += file->rows;
		totals.bytes += file->bytes;
	}
	return totals;
}

/* Large objects included. */
static CopyTotals
totals_of_all(const CopyContext *context)
{
	CopyTotals	totals = {.complete = true};

	for (int i = 0; i < context->source.tables->n_tables; i++)
	{
		CopyTotals	one = totals_of_table(context, i);

		totals.rows += one.rows;
		totals.bytes += one.bytes;
		totals.complete &= one.complete;
	}
	for (int i = 0; i < context->source.objects->n_groups; i++)
	{
		totals.bytes += context->objects[i].bytes;
		totals.complete &= context->objects[i].state == COPY_STATE_DONE;
	}
	return totals;
}

static double
seconds_between(const CopyReport *report, CopyStage from, CopyStage to)
{
	instr_time	span = report->began[to];

	INSTR_TIME_SUBTRACT(span, report->began[from]);
	return INSTR_TIME_GET_DOUBLE(span);
}

/* ----------
 * After a failure
 * ----------
 */
static void
account_for_rows(const CopyContext *context)
{
	int			n_tables = context->source.tables->n_tables;
	int			n_missing = 0;
	PQExpBufferData missing;

	initPQExpBuffer(&missing);
	for (int i = 0; i < n_tables; i++)
	{
		if (totals_of_table(context, i).complete)
			continue;
		if (n_missing++ < TABLES_SHOWN)
			appendPQExpBuffer(&missing, "%s%s", n_missing > 1 ? ", " : "",
							  printable(context->source.tables->tables[i].name));
	}
	if (n_missing == 0)
		pg_log_warning("all rows of all %d tables are in the target", n_tables);
	else
		pg_log_warning("all rows of %d of %d tables are in the target, but not of %s%s",
					   n_tables - n_missing, n_tables, missing.data,
					   n_missing > TABLES_SHOWN ? " and others" : "");
	termPQExpBuffer(&missing);
}

/* An exit callback. */
static void
give_account(void *arg)
{
	const CopyReport *report = arg;

	switch (report->stage)
	{
		case COPY_STAGE_PLAN:
			return;
		case COPY_STAGE_DEFINITIONS:
			pg_log_warning("the target has some of the definitions and no rows");
			return;
		default:
			account_for_rows(report->context);
			break;
	}
	if (report->builder && index_builder_entries(report->builder) > 0)
		pg_log_warning("%d of %d indexes and constraints were built while rows were copied",
					   index_builder_built(report->builder),
					   index_builder_entries(report->builder));
	if (report->stage < COPY_STAGE_REST)
		pg_log_warning("foreign keys, triggers, privileges and what else comes after the rows were not made");
	else if (report->incomplete || report->stage == COPY_STAGE_REST)
		pg_log_warning("definitions that come after the rows are missing as far as pg_restore has shown errors");
}

void
copy_report_begin(CopyReport *report, const CopyContext *context)
{
	report->context = context;
	copy_report_stage(report, COPY_STAGE_PLAN);
	cleanup_push(give_account, report);
}

void
copy_report_stage(CopyReport *report, CopyStage stage)
{
	report->stage = stage;
	INSTR_TIME_SET_CURRENT(report->began[stage]);
}

/* ----------
 * After all
 * ----------
 */
void
copy_report_print(const CopyReport *report)
{
	const CopyContext *context = report->context;
	CopyTotals	all = totals_of_all(context);

	for (int i = 0; i < context->source.tables->n_tables; i++)
	{
		CopyTotals	one = totals_of_table(context, i);

		pg_log_info("table %s: " UINT64_FORMAT " rows, " UINT64_FORMAT " bytes",
					printable(context->source.tables->tables[i].name), one.rows, one.bytes);
	}
	printf("copied %d tables, " UINT64_FORMAT " rows, " UINT64_FORMAT " bytes in %.2f seconds\n",
		   context->source.tables->n_tables, all.rows, all.bytes,
		   seconds_between(report, COPY_STAGE_PLAN, COPY_STAGE_END));
	if (context->source.options->compare)
		printf("source and target have the same rows in all tables\n");
	printf("definitions %.2f s, rows %.2f s, %d indexes %.2f s side by side and %.2f s after, the rest %.2f s, statistics %.2f s\n",
		   seconds_between(report, COPY_STAGE_DEFINITIONS, COPY_STAGE_ROWS),
		   seconds_between(report, COPY_STAGE_ROWS, COPY_STAGE_INDEXES),
		   index_builder_entries(report->builder),
		   index_builder_seconds(report->builder),
		   seconds_between(report, COPY_STAGE_INDEXES, COPY_STAGE_REST),
		   seconds_between(report, COPY_STAGE_REST, COPY_STAGE_ANALYZE),
		   seconds_between(report, COPY_STAGE_ANALYZE, COPY_STAGE_END));
}
