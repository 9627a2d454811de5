/*
 * load_account.h
 *		What a copy or a restore did: its stages, the closing summary, or the
 *		account of a failure.
 */
#ifndef LOAD_ACCOUNT_H
#define LOAD_ACCOUNT_H

#include "report/report.h"
#include "status/run.h"

typedef enum LoadStage
{
	LOAD_STAGE_PLAN,			/* nothing was done on the target */
	LOAD_STAGE_DEFINITIONS,
	LOAD_STAGE_ROWS,			/* and indexes of complete tables */
	LOAD_STAGE_INDEXES,			/* the remaining ones */
	LOAD_STAGE_REST,
	LOAD_STAGE_ANALYZE,
	LOAD_STAGE_COMPARE,			/* with --compare */
	LOAD_STAGE_END
} LoadStage;

typedef struct LoadAccount
{
	const Run  *run;
	char	   *copied;			/* the first line of a copy's summary, owned;
								 * NULL in a restore */
	char	   *database;		/* the database of a restore; owned */
	const char *formats;		/* the row formats of a copy's tables, and the
								 * reasons; NULL if they are not reported */
	char	   *compared;		/* the tables that were compared and are
								 * equal; NULL if none were */
	const IndexBuilds *indexes; /* NULL before LOAD_STAGE_ROWS */
	int			n_errors;		/* errors that a restore has ignored */
	bool		incomplete;		/* the run will fail because of errors after
								 * the rows, or at any time of a restore */
	bool		can_resume;		/* --resume can continue the restore */
	const volatile bool *must_restart;	/* in shared memory: a worker has
										 * found that it cannot; or NULL */
	LoadStage	stage;
	int64		began_us[LOAD_STAGE_END + 1];	/* by stage, microseconds
												 * since 1970, or 0 */
} LoadAccount;

/*
 * From now on, a failure is followed by an account of the target's contents.
 */
extern void load_account_begin(LoadAccount *account, const Run *run);

/* Begin a stage, for the account, the event log and the page of --report. */
extern void load_account_stage(LoadAccount *account, LoadStage stage);

/*
 * Set the index builds of the run, which the progress display and the account
 * show; borrowed.
 */
extern void load_account_indexes(LoadAccount *account, Run *run,
								 const IndexBuilds *indexes);

/* Print the summary at the end: tables, rows, bytes and times. */
extern void load_account_print(const LoadAccount *account, FILE *out);

/* ----------
 * The page of --report, of a copy or a restore.
 * ----------
 */

/*
 * At the end, write the page (see report_end()).  n_errors is the number of
 * errors that a restore has ignored.
 */
extern void load_page_end(Report *page, const LoadAccount *account, int n_errors,
						  const PeerAddress *target_address);

#endif							/* LOAD_ACCOUNT_H */
