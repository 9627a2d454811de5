/*
 * stock_pg_restore.h
 *		Stock pg_restore, run on a part of the table of contents.
 *
 * A run gets an archive of its own in a private directory: a toc.dat that
 * holds only the entries to be restored, and no data.
 */
#ifndef STOCK_PG_RESTORE_H
#define STOCK_PG_RESTORE_H

#include "base/fe_compat.h"

#include "options/options.h"
#include "process/child_program.h"
#include "session/connection.h"
#include "toc/toc.h"

/* What all runs have in common. */
typedef struct PgRestoreSetup
{
	const Options *options;
	const char *program;		/* pg_restore */
	const PeerAddress *address; /* of the target */
	const char *directory;		/* private, to hold the archives */
	const Toc  *toc;			/* its head is every archive's */
	const TocEntry **by_id;		/* its entries, by dump ID; owned */
	const char *const *args;	/* more options of all runs, NULL terminated,
								 * or NULL */
	volatile int *n_errors;		/* in memory that is shared: the errors that
								 * pg_restore told of are added, and it says
								 * no number; NULL if it is to say it.  The
								 * locale must be C */
} PgRestoreSetup;

typedef struct PgRestoreRun
{
	pid_t		pid;			/* 0 when it is gone */
	char	   *archive;		/* its directory; owned */
	volatile int *n_errors;		/* the setup's */
	PasswordCommand *command;	/* of the address, or NULL */
	ProgramWords words;			/* on its standard error */
} PgRestoreRun;

/* Let all archives be parts of this table of contents, which is borrowed. */
extern void stock_pg_restore_set_toc(PgRestoreSetup *setup, const Toc *toc);

/* pg_restore as it goes with a pg_dump: beside it, else in PATH; owned. */
extern char *stock_pg_restore_find(const char *pg_dump_path);

/*
 * The pg_restore to use: the one the user named, else the one beside this
 * program, else the first in PATH; owned.
 */
extern char *stock_pg_restore_find_own(const Options *options,
									   const char *argv0);

/*
 * The script that pg_restore writes of these entries (-f), with the user's
 * options that concern it, is appended to text.  If pg_restore fails, so does
 * this process.
 */
extern void stock_pg_restore_script(const PgRestoreSetup *setup,
									const char *name, const TocEntry *entries,
									int n_entries, PQExpBuffer text);

/*
 * Start pg_restore on these entries, with the user's options that concern it
 * and more of them (NULL terminated).  name is the archive's, not used twice.
 * Its words go to our standard error, while it is looked after.
 */
extern void stock_pg_restore_start(PgRestoreRun *run, const PgRestoreSetup *setup,
								   const char *name, const TocEntry *entries,
								   int n_entries, const char *const *more);

/* Wait for its end, while progress is shown; did all go well? */
extern bool stock_pg_restore_wait(PgRestoreRun *run);

#endif							/* STOCK_PG_RESTORE_H */
