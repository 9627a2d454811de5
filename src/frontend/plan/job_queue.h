/*
 * job_queue.h
 *		The queue of jobs: chunks, groups of small tables, and groups of large
 *		objects, in the order in which workers do them.
 */
#ifndef JOB_QUEUE_H
#define JOB_QUEUE_H

#include "plan/chunk_plan.h"

/* ----------
 * Large objects: which ones, and in which groups.
 * ----------
 */

/*
 * This number of objects of a list is a group, the last one as many as are
 * left.
 */
#define LARGE_OBJECT_GROUP 1000

/* Objects that one worker dumps in one go, one file each. */
typedef struct LargeObjectGroup
{
	const Oid  *oids;			/* borrowed from the list */
	int			n_oids;
	int			first_object;	/* its number among those of all groups */
} LargeObjectGroup;

/* One BLOBS entry: a file that lists objects. */
typedef struct LargeObjectList
{
	char	   *filename;		/* borrowed from the TOC, e.g. blobs.toc */
	Oid		   *oids;
	int			n_oids;
} LargeObjectList;

typedef struct LargeObjects
{
	LargeObjectList *lists;
	int			n_lists;
	LargeObjectGroup *groups;
	int			n_groups;
	int			n_objects;		/* of all groups together */
	uint64		est_bytes;		/* of all groups together */
} LargeObjects;

/*
 * The large objects of an archive, in groups of at most 1000.  Up to archive
 * format 1.15 one entry stands for all objects there are; from 1.16 on each
 * entry's objects are listed in the BLOB METADATA entry it depends on.
 */
extern LargeObjects *large_objects_read(PGconn *conn, const Toc *toc);

/*
 * The same of lists that were read elsewhere, which are taken over; est_bytes
 * is for the caller to set.
 */
extern LargeObjects *large_objects_of_lists(LargeObjectList *lists,
											int n_lists);

/* The group of an object by its number among those of all groups. */
extern int	large_objects_group_of(const LargeObjects *objects, int number);

/*
 * A text about the group, owned.  The formats are "... %u" for the OID of one
 * object, and "... %d ... %u ... %u" for several: their number, in the plural
 * form of ngettext(), and the first and last OID.
 */
extern char *large_object_group_text(const LargeObjectGroup *group,
									 const char *of_object,
									 const char *of_objects);

/* "5 large objects, 1001 to 1005", "1 large object, 1001"; owned. */
extern char *large_object_group_describe(const LargeObjectGroup *group);

/* ----------
 * Jobs
 * ----------
 */

typedef enum JobKind
{
	JOB_DATA_FILES,				/* a chunk, a table, or some small tables */
	JOB_LARGE_OBJECTS			/* a group of large objects */
} JobKind;

typedef struct Job
{
	JobKind		kind;
	int			first;			/* in JobQueue.files, or the group's index */
	int			n;				/* files; 1 for a group */
	int			task;			/* whose it is, of a run by tasks */
	int			wave;			/* begun when all jobs of the waves before it
								 * are done */
	bool		at_once;		/* the files are all of one table, whose rows
								 * are of use only together */
	bool		shared;			/* this is one of the jobs that do one file
								 * together, in pieces */
	uint64		est_bytes;
	uint64		path;			/* bytes until all is done that waits for it;
								 * the longest is first */
} Job;

/* What makes no difference to jobs is NULL. */
typedef struct JobRules
{
	const int  *waves;			/* by table: not before all those of lower
								 * numbers */
	const bool *at_once;		/* by table: by one job, in the order of its
								 * files */
	const int  *shares;			/* by file: how many jobs do it together, in
								 * pieces; 0 = one does it as a whole */
	bool		apart;			/* each file is a job of its own, unless at
								 * once: how long files are is not known */
	const int  *builds;			/* by table: of indexes, one after the other,
								 * when it has its rows */
	const DumpTables *targets;	/* no job has two files that are loaded into
								 * one table, unless at once */
} JobRules;

typedef struct JobQueue
{
	Job		   *jobs;
	int			n_jobs;
	const DataFile **files;		/* by job; borrowed from the plan */
} JobQueue;

/*
 * Queue all files of the plan and all groups of large objects.  Small tables
 * are put together, up to 1 MB and 32 tables a job, to save round trips.
 * rules may be NULL: all in any order.
 */
extern JobQueue *job_queue_make(const ChunkPlan *chunks,
								const LargeObjects *objects,
								const JobRules *rules);

/*
 * Queue these files, which are taken over, in their order: each is shared by
 * n_shares jobs.
 */
extern JobQueue *job_queue_share(const DataFile **files, int n_files,
								 int n_shares);

/*
 * What a job is about, or one of its files unless step is -1; owned.  Of many
 * files only the first are named.
 */
extern char *job_describe(const JobQueue *queue, const Job *job, int step,
						  const DumpTables *tables,
						  const LargeObjects *objects);

/*
 * The same in at most JOB_LABEL_BYTES printable ASCII characters, for the
 * name of a session, which the server cuts at 63.  Returns label.
 */
#define JOB_LABEL_BYTES 63
extern const char *job_label(const JobQueue *queue, const Job *job,
							 const DumpTables *tables,
							 char label[JOB_LABEL_BYTES + 1]);

/*
 * A text about n files of one table, owned.  The formats are "... %s" for the
 * table, "... %d of %d ... %s" for one of several chunks of the table, and
 * "... %d ... %s" for several chunks, in the plural form of ngettext(), which
 * may be NULL if n is 1.
 */
extern char *data_files_text(const DataFile *const *files, int n,
							 const DumpTables *tables, const char *of_table,
							 const char *of_chunk, const char *of_chunks);

/* The same of one file: "chunk 2 of 9 of table public.t". */
extern char *data_file_describe(const DataFile *file,
								const DumpTables *tables);

#endif							/* JOB_QUEUE_H */
