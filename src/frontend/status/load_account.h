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
	LOAD_STAGE_ROWS,			/* and indexes side by side */
	LOAD_STAGE_INDEXES,			/* that are left */
	LOAD_STAGE_REST,
	LOAD_STAGE_ANALYZE,
	LOAD_STAGE_COMPARE,			/* if it is asked for */
	LOAD_STAGE_END
} LoadStage;

typedef struct LoadAccount
{
	const Run  *run;
	char	   *copied;			/* which database a copy copied to which
								 * other; owned */
	const char *formats;		/* in which a copy's tables crossed, and why;
								 * NULL if there is nothing to say */
	char	   *compared;		/* what was compared, and is equal; NULL if
								 * nothing was */
	const IndexBuilds *indexes; /* NULL before LOAD_STAGE_ROWS */
	bool		incomplete;		/* there were errors, after the rows or at any
								 * time of a restore, and the run fails by
								 * them */
	bool		can_resume;		/* a restore's --resume continues from here */
	const volatile bool *must_restart;	/* in shared memory: but it must not,
										 * as a worker has found; or NULL */
	LoadStage	stage;
	int64		began_us[LOAD_STAGE_END + 1];	/* by stage, microseconds
												 * since 1970; 0 = not */
} LoadAccount;

/*
 * From here on, a failure is followed by an account of what the target has.
 */
extern void load_account_begin(LoadAccount *account, const Run *run);

/* A stage begins now: for the account, the event log, and the page. */
extern void load_account_stage(LoadAccount *account, LoadStage stage);

/* Indexes are built while rows are loaded, and shown with them; borrowed. */
extern void load_account_indexes(LoadAccount *account, Run *run,
								 const IndexBuilds *indexes);

/* All is done: tables, rows, bytes, seconds. */
extern void load_account_print(const LoadAccount *account, FILE *out);

/* ----------
 * The page of --report, of a copy or a restore.
 * ----------
 */

/*
 * All is done, but for n_errors that a restore passed over: write the page
 * (see report_end()).
 */
extern void load_page_end(Report *page, const LoadAccount *account, int n_errors,
						  const PeerAddress *target_address);

#endif							/* LOAD_ACCOUNT_H */
