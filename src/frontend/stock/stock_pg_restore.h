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
 * Run `pg_restore -l` to find out which entries of the archive at this path
 * the user's options select, so that the selection cannot differ from
 * pg_restore's.  Returns their *n_ids dump IDs, in the order of the restore;
 * owned.  If pg_restore fails, its messages are shown, and the process exits
 * with its exit code.  If a newer pg_dump wrote the archive, whose table of
 * contents is toc, there is a hint.
 */
extern int *stock_list_read(const char *program, const Options *options,
							const char *path, const Toc *toc, int *n_ids);

/*
 * Check whether the archive contains the names of -n, -N, -t, -I, -P and -T.
 * toc contains all its entries.  Exits with a message if no entry matches the
 * names, which pg_restore would treat as success.  Warns of a name that does
 * not match, unless --strict-names is used: then `pg_restore -l` reports it
 * as an error.
 */
extern void stock_list_check_names(const Toc *toc, const Options *options);

/*
 * Replace this process by pg_restore, with the user's options.  Exits with a
 * message on failure.
 */
pg_noreturn extern void stock_list_become(const char *program,
										  const Options *options);

/*
 * Run pg_restore with the user's options, on the archive at this path, which
 * the command line does not contain.  Returns its exit code.
 */
extern int	stock_list_run(const char *program, const Options *options,
						   const char *path);

/* The properties of all runs. */
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
	volatile int *n_errors;		/* in shared memory: the number of errors that
								 * pg_restore reported is added, and its
								 * message with the number is not shown.  NULL
								 * to show it.  The locale must be C */
} PgRestoreSetup;

typedef struct PgRestoreRun
{
	pid_t		pid;			/* 0 after its end */
	char	   *archive;		/* its directory; owned */
	volatile int *n_errors;		/* the setup's */
	PasswordCommand *command;	/* of the address, or NULL */
	ProgramWords words;			/* on its standard error */
} PgRestoreRun;

/*
 * Set the table of contents whose entries the archives of the runs contain;
 * borrowed.
 */
extern void stock_pg_restore_set_toc(PgRestoreSetup *setup, const Toc *toc);

/*
 * Find the pg_restore in the directory of this pg_dump, or else the first one
 * in PATH; owned.  Exits with a message if there is none.
 */
extern char *stock_pg_restore_find(const char *pg_dump_path);

/*
 * Append the script that pg_restore -f writes for these entries to text, with
 * the user's options for definitions.  If pg_restore fails, the process exits
 * with its exit code.
 */
extern void stock_pg_restore_script(const PgRestoreSetup *setup,
									const char *name, const TocEntry *entries,
									int n_entries, PQExpBuffer text);

/*
 * Start pg_restore for these entries, with the user's options for definitions
 * and those in "more" (NULL terminated).  Each run needs a different name,
 * which becomes that of its archive.  stock_pg_restore_wait() passes its
 * messages on to our standard error.
 */
extern void stock_pg_restore_start(PgRestoreRun *run, const PgRestoreSetup *setup,
								   const char *name, const TocEntry *entries,
								   int n_entries, const char *const *more);

/*
 * Wait for the end of pg_restore, and update the progress display meanwhile.
 * Returns whether it succeeded.
 */
extern bool stock_pg_restore_wait(PgRestoreRun *run);

#endif							/* STOCK_PG_RESTORE_H */
