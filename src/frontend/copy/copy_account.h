/*
 * copy_account.h
 *		What a direct copy did: the closing summary, or the account of a
 *		failure.
 */
#ifndef COPY_ACCOUNT_H
#define COPY_ACCOUNT_H

#include "copy/copy_format.h"
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

typedef struct CopyAccount
{
	const Run  *run;
	const CopyFormats *formats; /* NULL before COPY_STAGE_ROWS */
	IndexBuilder *builder;		/* NULL before COPY_STAGE_ROWS */
	bool		incomplete;		/* pg_restore met errors after the rows */
	CopyStage	stage;
	int64		began_us[COPY_STAGE_END + 1];	/* by stage, microseconds
												 * since 1970; 0 = not */
} CopyAccount;

/*
 * From here on, a failure is followed by an account of what the target has.
 */
extern void copy_account_begin(CopyAccount *account, const Run *run);

/* A stage begins now: for the account, the event log, and the page. */
extern void copy_account_stage(CopyAccount *account, CopyStage stage);

/*
 * The stages that there were, all but the end, in the order of time: fills in
 * at most COPY_STAGE_END of them, and returns how many.
 */
extern int	copy_account_stages(const CopyAccount *account, ReportStage *stages);

/* How long each stage took, as a text; owned. */
extern char *copy_account_times(const CopyAccount *account);

/*
 * How many tables were copied in which format, and why in none that takes
 * less work, as a text; NULL if there are no tables.  Owned.
 */
extern char *copy_account_formats(const CopyAccount *account);

/* All went well: tables, rows, bytes, seconds, on standard output. */
extern void copy_account_print(const CopyAccount *account);

#endif							/* COPY_ACCOUNT_H */
