/*
 * compare_side.h
 *		One of the two sides of a comparison: a database, in a snapshot, or an
 *		archive.
 *
 * Both have the same interface: a plan, and the rows of its data files in
 * COPY's text format.  A database is planned and read like for a dump, so a
 * comparison runs no code that a dump would not run.
 */
#ifndef COMPARE_SIDE_H
#define COMPARE_SIDE_H

#include "source/worker_session.h"

/* ----------
 * Finding the tables of a plan in another database, by name.
 *
 * The other database was filled from the plan's, or the other way round.  So
 * it has tables with the same names, and other OIDs.  A name that its
 * encoding cannot represent is not found.
 * ----------
 */

/*
 * The name of the table into which the rows are loaded, qualified, and quoted
 * like the names of tables; owned.
 */
extern char *compare_lookup_load_name(const DumpTable *table);

/*
 * Make a table of contents with the tables of the plan that the session's
 * database has, and the columns that both have.  Names of columns come from
 * the server, because those in an archive may contain any SQL.
 *
 * If the database was loaded, the rows of a table that is loaded through a
 * partitioned table may be in any of its partitions, except those that are
 * loaded separately.  So all these partitions are included, each with the
 * load name of the partitioned table.  Foreign tables are left out.  *missing
 * is the first table that was not found, or NULL; borrowed.
 */
extern Toc *compare_lookup_tables(PGconn *conn, const DumpPlan *plan,
								  bool loaded, const char **missing);

/* The sum of large objects. */
typedef struct ObjectSum
{
	uint64		objects;
	uint64		bytes;
	uint64		sum;			/* sum of their hashes */
} ObjectSum;

/*
 * The functions that process the data of a side.  All are called in workers
 * except reset(), which is called like WorkerTask's, for each data file of
 * the job.
 */
typedef struct CompareWork
{
	void	   *arg;			/* argument of every callback */

	/* Called in the leader: should this table be read? */
	bool		(*wants) (void *arg, int table);

	/*
	 * begin() is called before the rows of a data file, and end() after them.
	 * The caller frees the sink; NULL means that the rows are not needed.
	 */
	Sink	   *(*begin) (void *arg, const DataFile *file);
	void		(*end) (void *arg, const DataFile *file);
	void		(*reset) (void *arg, const DataFile *file);

	/* Gets the sum of a group of large objects; NULL if they are not read. */
	void		(*group) (void *arg, int group, const ObjectSum *sum);
	uint64		seed;			/* seed of that sum */
} CompareWork;

/*
 * The state of a side.  A comparison may change the members "name" and
 * "alike", and columns in the plan.
 */
typedef struct CompareSide
{
	const char *name;			/* its name in results, 'database "shop"'; set
								 * it after the side is opened */
	const Options *options;
	const DumpPlan *plan;
	Run			run;
	Source	   *source;			/* source of a database, or NULL */
	bool		begun;			/* is the leader's session being kept? */
	bool		alike;			/* set this to print the rows of two databases
								 * in the same way, although they depend on
								 * settings that dumps do not change */
	const Archive *archive;		/* or NULL */
	const ArchivePlan *archive_plan;

	/* while it is read */
	const CompareWork *work;
	int		   *jobs;			/* jobs of the plan's queue */
	int			n_jobs;
	WorkerSession *session;		/* in a worker: the session on a database */
} CompareSide;

/*
 * Open a database, plan it like a dump with these options, and lock its
 * tables.  encoding is that of the other side, or NULL for the first side.
 * Exits with a message if something cannot be read.
 */
extern CompareSide *compare_side_open_database(const Options *options,
											   const char *argv0,
											   const char *encoding);

/*
 * Open a database with the tables of another side, with a connected source,
 * which stays in use: find the tables of that side's plan in it, plan them,
 * and lock them.  Exits with a message if something cannot be read.
 */
extern CompareSide *compare_side_open_tables(Source *source,
											 const DumpPlan *like, bool loaded);

/*
 * The source of a copy, in the copy's snapshot.  Call this after
 * leader_run_workers(), with Source.keep_snapshot.
 */
extern CompareSide *compare_side_of_copy(Source *source, const DumpPlan *plan);

/* Open an archive.  Exits with a message if it cannot be compared. */
extern CompareSide *compare_side_open_archive(const Options *options);

/*
 * Choose the data for the next compare_side_run(), in which all workers read
 * it.
 */
extern void compare_side_choose(CompareSide *side, const CompareWork *work);
extern void compare_side_run(CompareSide *side);

/* Begin a progress stage in which both sides are read. */
extern void compare_sides_begin_stage(CompareSide *const sides[2],
									  const char *what);

/* Close a side when its snapshot and locks are no longer needed. */
extern void compare_side_close(CompareSide *side);

#endif							/* COMPARE_SIDE_H */
