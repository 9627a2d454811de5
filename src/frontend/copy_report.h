/*
 * copy_report.h
 *		What a direct copy did: the closing summary, or the account of a failure.
 */
#ifndef COPY_REPORT_H
#define COPY_REPORT_H

#include "portability/instr_time.h"

#include "copy_index.h"
#include "copy_worker.h"

typedef enum CopyStage
{
	COPY_STAGE_PLAN,			/* nothing was done on the target */
	COPY_STAGE_DEFINITIONS,
	COPY_STAGE_ROWS,			/* and indexes side by side */
	COPY_STAGE_INDEXES,			/* that are left */
	COPY_STAGE_REST,
	COPY_STAGE_ANALYZE,
	COPY_STAGE_COMPARE,			/* if it is asked for */
	COPY_STAGE_END
} CopyStage;

typedef struct CopyReport
{
	const CopyContext *context;
	IndexBuilder *builder;		/* NULL before COPY_STAGE_ROWS */
	bool		incomplete;		/* pg_restore met errors after the rows */
	CopyStage	stage;
	instr_time	began[COPY_STAGE_END + 1];	/* by stage */
} CopyReport;

/* From here on, a failure is followed by an account of what the target has. */
extern void copy_report_begin(CopyReport *report, const CopyContext *context);

extern void copy_report_stage(CopyReport *report, CopyStage stage);

/* How long each stage took, as a text; owned. */
extern char *copy_report_times(const CopyReport *report);

/* All went well: tables, rows, bytes, seconds, on standard output. */
extern void copy_report_print(const CopyReport *report);

#endif							/* COPY_REPORT_H */
