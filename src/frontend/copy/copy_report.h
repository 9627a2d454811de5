/*
 * copy_report.h
 *		What a direct copy did: the closing summary, or the account of a
 *		failure.
 */
#ifndef COPY_REPORT_H
#define COPY_REPORT_H

#include "report/report.h"
#include "status/run.h"
#include "target/index_builder.h"

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
	const Run  *run;
	IndexBuilder *builder;		/* NULL before COPY_STAGE_ROWS */
	bool		incomplete;		/* pg_restore met errors after the rows */
	CopyStage	stage;
	int64		began_us[COPY_STAGE_END + 1];	/* by stage, microseconds
												 * since 1970; 0 = not */
} CopyReport;

/*
 * From here on, a failure is followed by an account of what the target has.
 */
extern void copy_report_begin(CopyReport *report, const Run *run);

extern void copy_report_stage(CopyReport *report, CopyStage stage);

/*
 * The stages that there were, all but the end, in the order of time: fills in
 * at most COPY_STAGE_END of them, and returns how many.
 */
extern int	copy_report_stages(const CopyReport *report, ReportStage *stages);

/* How long each stage took, as a text; owned. */
extern char *copy_report_times(const CopyReport *report);

/* All went well: tables, rows, bytes, seconds, on standard output. */
extern void copy_report_print(const CopyReport *report);

#endif							/* COPY_REPORT_H */
