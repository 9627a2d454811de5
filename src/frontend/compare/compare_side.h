/*
 * compare_side.h
 *		One of two sides that are compared: a database, in a snapshot, or an
 *		archive.
 *
 * Both give the same: a plan, and the rows of its data files as COPY writes
 * them.  A database is planned and read as for a dump of it; so a comparison
 * runs nothing that a dump would not run.
 */
#ifndef COMPARE_SIDE_H
#define COMPARE_SIDE_H

#include "source/worker_session.h"

/* ----------
 * Finds what a plan names in another database, by names.
 *
 * That database was, or is to be, filled from what the plan is of: so it has
 * tables of the same names, with other OIDs.  A name that its encoding does
 * not have is not found.
 * ----------
 */

/*
 * The name of the table that the rows are loaded into, qualified, and quoted
 * like the names of tables; owned.
 */
extern char *compare_lookup_load_name(const DumpTable *table);

/*
 * A table of contents with the data of the tables that the database of this
 * session has, of those of the plan, with the columns that both have.  Names
 * of columns are the server's: those of an archive may hold any SQL.
 *
 * If the database was loaded, rows of a table that is loaded by way of a
 * partitioned one may be in any of its partitions, but for those that are
 * loaded for themselves: all of these are there instead, each with the load
 * name of the partitioned table.  Foreign tables are left out.  *missing is
 * the first table that is not found, or NULL; borrowed.
 */
extern Toc *compare_lookup_tables(PGconn *conn, const DumpPlan *plan,
								  bool loaded, const char **missing);

/* Of large objects. */
typedef struct ObjectSum
{
	uint64		objects;
	uint64		bytes;
	uint64		sum;			/* of a hash of each */
} ObjectSum;

/*
 * What is done with it.  All are called in workers but reset(), which is
 * called as WorkerTask's is, for each data file of the job.
 */
typedef struct CompareWork
{
	void	   *arg;			/* given to every callback */

	/* In the leader: is this table to be read? */
	bool		(*wants) (void *arg, int table);

	/*
	 * The rows of a data file come; and have come.  The sink is freed by the
	 * caller; NULL if they are not wanted any more.
	 */
	Sink	   *(*begin) (void *arg, const DataFile *file);
	void		(*end) (void *arg, const DataFile *file);
	void		(*reset) (void *arg, const DataFile *file);

	/* The sum of a group of large objects; NULL: they are not read. */
	void		(*group) (void *arg, int group, const ObjectSum *sum);
	uint64		seed;			/* of that */
} CompareWork;

/* The others may change alike, and the columns of a table of the plan. */
typedef struct CompareSide
{
	const char *name;			/* what results call it */
	const Options *options;
	const DumpPlan *plan;
	Run			run;
	Source	   *source;			/* of a database, or NULL */
	bool		begun;			/* its leader's session is kept */
	bool		alike;			/* to be set if rows of two databases, which
								 * depend on settings that dumps leave alone,
								 * are to be written alike */
	const Archive *archive;		/* or NULL */
	const ArchivePlan *archive_plan;

	/* While it is read */
	const CompareWork *work;
	int		   *jobs;			/* of the plan's queue */
	int			n_jobs;
	WorkerSession *session;		/* in a worker, of a database */
} CompareSide;

/*
 * Open a database, plan it as a dump with these options, and lock its tables.
 * If rows are to be as another side has them, encoding is that side's; else
 * NULL.  Exits with a message if something cannot be read.
 */
extern CompareSide *compare_side_open_database(const Options *options,
											   const char *name,
											   const char *argv0,
											   const char *encoding);

/*
 * A database with the tables of another side, by the source that is connected
 * to it, and stays in use: plan what it has of that side's plan, as
 * compare_side.h finds it, and lock these tables.  Exits with a message if
 * something cannot be read.
 */
extern CompareSide *compare_side_open_tables(Source *source, const char *name,
											 const DumpPlan *like, bool loaded);

/*
 * The source of a copy, in the snapshot of the copy: after
 * leader_run_workers(), with Source.keep_snapshot.
 */
extern CompareSide *compare_side_of_copy(Source *source, const char *name,
										 const DumpPlan *plan);

/* Open an archive.  Exits with a message if it cannot be compared. */
extern CompareSide *compare_side_open_archive(const Options *options);

/*
 * What is wanted is settled for the next compare_side_run(), in which all
 * workers read it.
 */
extern void compare_side_choose(CompareSide *side, const CompareWork *work);
extern void compare_side_run(CompareSide *side);

/* A stage of the progress in which both sides are run. */
extern void compare_sides_begin_stage(CompareSide *const sides[2],
									  const char *what);

/* Snapshot and locks are of no more use. */
extern void compare_side_close(CompareSide *side);

#endif							/* COMPARE_SIDE_H */
