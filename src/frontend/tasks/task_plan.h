/*
 * task_plan.h
 *		The plan of a distributed dump as a file, the directory of a run's
 *		files, and the lines in which tasks report their results.
 *
 * The leader writes the file when the plan is complete.  Tasks on any host
 * read it, and do the jobs that the workers of the leader would do otherwise.
 * The leader and the tasks must run the same version of the program.  The
 * file does not contain passwords, which each host must have.  It contains
 * names, columns or their masks, conditions and block ranges, so that the
 * leader and the tasks make the same statements.
 *
 *	{ head's members,
 *	"standbys": [ {members}, ...],
 *	"tables": [ {table's members, "columns": [text, ...],
 *				 "masks": [text or null, ...] if there are any}, ...],
 *	"files": [ {members, "previous": {members} if there is one}, ...],
 *	"queue": [ number of a file, in the order of the jobs, ...],
 *	"groups": [ {"first": number of its first object, "oids": [...]}, ...],
 *	"jobs": [ {members}, ...] }
 *
 * The file is 0600 in a directory of its own.  What is in it is executed, so
 * a task takes it only if it is the user's own, and no other user can change
 * it.
 */
#ifndef TASK_PLAN_H
#define TASK_PLAN_H

#include "plan/dump_plan.h"
#include "process/file_result.h"

/* Which server and database it is: texts, to be compared. */
typedef struct TaskServer
{
	char	   *system_identifier;	/* "" if the role may not ask */
	char	   *timeline;		/* the same */
	char	   *database;
	char	   *user;			/* whose sessions they are */
} TaskServer;

/* Earlier versions also wrote plans of copies and restores. */
#define TASKS_DUMP "dump"

/* The first members of the file; texts are owned. */
typedef struct TaskRun
{
	char	   *version;		/* of the program */
	char	   *what;			/* is done: TASKS_DUMP */
	char	   *run_id;			/* random, of this run only */
	int			n_tasks;
	char	   *conninfo;		/* how the leader has reached the server */
	char	   *time_zone;		/* the leader's PGTZ, or NULL */
	char	   *date_style;		/* its PGDATESTYLE, or NULL */
	TaskServer	server;
	char	   *role;			/* options; NULL if there is none */
	bool		enable_row_security;
	uint64		retries;
} TaskRun;

/* What is there once; texts are owned, and NULL where there is nothing. */
typedef struct DumpTaskHead
{
	TaskRun		run;
	char	   *snapshot;
	char	   *snapshot_identity;
	char	   *encoding;
	char	   *compression;	/* as compress_spec_print() has it */
	char	   *server_compression; /* NULL = tasks compress */
	char	   *checksums;
	int			lock_wait_ms;
	char	   *extra_float_digits;
	bool		quote_all_identifiers;
	bool		no_sync;
	char	   *archive;		/* its directory; NULL with a command */
	char	   *pipe_command;
	int			server_version;
	int			block_bytes;
	ServerExtension extension;	/* its texts */
	FingerprintSpec fingerprints;	/* no algorithm = none are recorded */
	char	   *previous;		/* directory of the archive whose files may be
								 * used again; NULL = none */
	char	   *copy_method;	/* how; NULL = the first that does */
	bool		knows_changes;	/* of blocks since then */
	int			n_objects;		/* large objects in all groups */
} DumpTaskHead;

/* A further standby that has the snapshot: a Standby, as a task needs it. */
typedef struct PlannedStandby
{
	char	   *name;
	char	   *conninfo;
	char	   *snapshot;
	char	   *identity;
	char	   *holder_query;
} PlannedStandby;

/* A table, with what was decided about it. */
typedef struct PlannedTable
{
	DumpTable	table;
	TablePlan	decided;
	int			n_masks;		/* n_columns, or 0 if none is masked */
} PlannedTable;

/* The plan's file. */
typedef struct PlanFile
{
	DumpTaskHead head;
	PlannedStandby *standbys;
	int			n_standbys;
	PlannedTable *tables;
	int			n_tables;
	DataFile   *files;
	int			n_files;
	int		   *queue;			/* numbers of files */
	int			n_queue;
	LargeObjectGroup *groups;
	int			n_groups;
	Job		   *jobs;
	int			n_jobs;
} PlanFile;

/*
 * Write the file at path, which must not exist; it gets its name when it is
 * whole and flushed.  Exits with a message on failure.
 */
extern void task_plan_write_file(const char *path, const PlanFile *file);

/*
 * Read one from memory into a struct that is zero.  NULL, or what is wrong
 * with it: damage, or numbers of files, tables, groups or objects that are
 * not there.
 */
extern const char *task_plan_parse(PlanFile *file, const char *text,
								   size_t len);

/* Free what task_plan_parse() has read. */
extern void task_plan_free(PlanFile *file);

/* ----------
 * Reads the plan of a dump in a task.
 * ----------
 */

typedef struct DumpTaskPlan
{
	DumpTaskHead head;
	PlannedStandby *standbys;
	int			n_standbys;
	DumpPlan	plan;			/* without tables of contents */
} DumpTaskPlan;

/*
 * Read the plan.  Exits with a message if the file is not the user's own, is
 * damaged, or was written by another version of the program, or for something
 * else than a dump.
 */
extern DumpTaskPlan *task_plan_read(const char *path);

/* ----------
 * The directory that a run's plan is in, and what attempts at tasks
 * leave there: in the archive's, or where --plan names the file.
 * ----------
 */

typedef struct TaskPlace
{
	char	   *directory;
	int			fd;				/* open on it, as others may take its path */
	char	   *plan_path;		/* of the plan in it */
} TaskPlace;

/*
 * Make the directory, 0700: that of plan, the path of a file, or, if that is
 * NULL, ARCHIVE_TASKS_NAME in the directory of the archive.  When the program
 * ends, and with task_place_remove() before, it goes again with all that is
 * in it.
 */
extern TaskPlace *task_place_make(const char *plan, const char *archive);
extern void task_place_remove(TaskPlace *place);

/*
 * Open a file of the run for reading: a regular one, no link, that is this
 * user's and that no other user may write.  -1, and *problem, which is never
 * freed, if it is none; errno is ENOENT only if there is no such file.
 */
extern int	task_place_open(const char *path, const char **problem);

/* All of such a file, ended by a zero; owned. */
extern char *task_place_read(int fd, const char *path, size_t *len);

/* ----------
 * The lines by which attempts at tasks report files to the leader.
 *
 * An attempt is a process that does a task; there may be several at one task,
 * one after the other or at the same time.  Each appends lines, one JSON
 * object each, to a file of its own beside the plan, whose only writer it is,
 * so that the files can be on a network's file system:
 *
 *	{ "is": "run", "run": id }				first
 *	{ "is": "file", "number": ..., ...}		a file of rows is complete, and
 *											flushed
 *	{ "is": "object", "number": ..., ...}	a large object is
 *	{ "is": "refused", "number": job }		no session of the task can lock
 *											the job's table
 *	{ "is": "end" }							it has done what it could
 *
 * The leader gives the files their names in the archive, from the first of
 * the attempts that has reported them; what others make of them goes.
 * ----------
 */

#define TASK_RESULT_SUFFIX ".results"

typedef enum TaskLineKind
{
	TASK_LINE_NONE,
	TASK_LINE_RUN,
	TASK_LINE_FILE,
	TASK_LINE_OBJECT,
	TASK_LINE_REFUSED,
	TASK_LINE_END
} TaskLineKind;

typedef struct TaskLine
{
	TaskLineKind kind;
	char	   *run_id;			/* owned */
	uint64		number;			/* of the file, object or job */
	FileResult	result;			/* of the former two; new_reason is owned when
								 * it was read */
	char	   *reused;			/* result.reused as it was read; owned */
} TaskLine;

/* In a task: what this attempt at it tells. */
typedef struct TaskResults
{
	char	   *directory;		/* the plan's */
	char	   *attempt;		/* its name, TASK.HOST.PROCESS.RANDOM */
	char	   *path;			/* of its file */
	int			fd;
	uint64		written;		/* bytes of the file */
} TaskResults;

/* Begin the file of an attempt, beside the plan at this path. */
extern void task_result_begin(TaskResults *results, const char *plan,
							  int task, const char *run_id);

/* Append a line to it.  Exits with a message on failure, as what follows. */
extern void task_result_write(TaskResults *results, const TaskLine *line);

/* The same of a result of this job's. */
extern void task_result_report(TaskResults *to, const FileResults *results,
							   const Job *job, const FileResult *result);

/* See that all lines are on disk. */
extern void task_result_flush(const TaskResults *results);

/* It has done what it could: the last line, on disk. */
extern void task_result_end(TaskResults *results);

/* Read a line, without its end; false if it is none. */
extern bool task_result_read(const char *text, size_t len, TaskLine *line);

/* Free what task_result_read() has read, also if that is false. */
extern void task_result_free(TaskLine *line);

#endif							/* TASK_PLAN_H */
