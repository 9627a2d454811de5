/*
 * stock_pg_restore.h
 *		Stock pg_restore, run on a part of the table of contents.
 *
 * A run gets an archive of its own in a private directory: a toc.dat that
 * holds only the entries to be restored, and no data.
 */
#ifndef STOCK_PG_RESTORE_H
#define STOCK_PG_RESTORE_H

#include "archive/toc.h"
#include "session/connection.h"

/* ----------
 * What stock pg_restore would restore, and stock pg_restore itself.
 * ----------
 */

/*
 * Ask `pg_restore -l` which entries of the archive at this path the user's
 * options select, by the code that defines it: their dump IDs in the order
 * in which they are to be restored, owned; *n_ids is their number.  If it
 * fails its own words are shown, with a hint if a newer pg_dump made the
 * archive, whose table of contents is toc, and the process ends with its
 * exit code.
 */
extern int *stock_list_read(const char *program, const Options *options,
							const char *path, const Toc *toc, int *n_ids);

/*
 * Look whether the names that -n, -N, -t, -I, -P and -T give are in the
 * archive (toc: all of it).  If no entry matches them, which pg_restore
 * would call a success, exit with a message; if one of them matches none,
 * give a warning: --strict-names makes pg_restore -l refuse that.
 */
extern void stock_list_check_names(const Toc *toc, const Options *options);

/*
 * Become pg_restore, with the options that the user gave; exits with a
 * message if that fails.
 */
pg_noreturn extern void stock_list_become(const char *program,
										  const Options *options);

/*
 * Run pg_restore in the same way, but with the archive at this path, which
 * the command line does not name.  Returns its exit code.
 */
extern int	stock_list_run(const char *program, const Options *options,
						   const char *path);

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
