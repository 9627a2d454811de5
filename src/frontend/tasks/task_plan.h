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

/*
 * The identity of a server and database.  All members are texts, because they
 * are only compared.
 */
typedef struct TaskServer
{
	char	   *system_identifier;	/* "" if not permitted */
	char	   *timeline;		/* empty in the same case */
	char	   *database;
	char	   *user;			/* the session user */
} TaskServer;

/*
 * The only kind of plan.  Earlier versions also wrote plans of copies and
 * restores.
 */
#define TASKS_DUMP "dump"

/* The first members of the file, which describe the run.  Texts are owned. */
typedef struct TaskRun
{
	char	   *version;		/* of the program */
	char	   *what;			/* always TASKS_DUMP */
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

/*
 * All members that are not in arrays.  Texts are owned; NULL means not set.
 */
typedef struct DumpTaskHead
{
	TaskRun		run;
	char	   *snapshot;
	char	   *snapshot_identity;
	char	   *encoding;
	char	   *compression;	/* printed by compress_spec_print() */
	char	   *server_compression; /* NULL = tasks compress */
	char	   *checksums;
	int			lock_wait_ms;
	char	   *extra_float_digits;
	bool		quote_all_identifiers;
	bool		no_sync;
	char	   *archive;		/* directory; NULL with --pipe */
	char	   *pipe_command;
	int			server_version;
	int			block_bytes;
	ServerExtension extension;	/* only its texts are in the file */
	FingerprintSpec fingerprints;	/* no algorithm = none are recorded */
	char	   *previous;		/* directory, or command, of the archive whose
								 * files may be used again; NULL = none */
	char	   *pipe_copy;		/* the command that copies them, or NULL */
	char	   *copy_method;	/* NULL = the first that works */
	bool		knows_changes;	/* which blocks changed since then */
	int			n_objects;		/* large objects in all groups */
} DumpTaskHead;

/*
 * Another standby with the same snapshot: the members of Standby that a task
 * needs.
 */
typedef struct PlannedStandby
{
	char	   *name;
	char	   *conninfo;
	char	   *snapshot;
	char	   *identity;
	char	   *holder_query;
} PlannedStandby;

/* A table, with the decisions of the planner about it. */
typedef struct PlannedTable
{
	DumpTable	table;
	TablePlan	decided;
	int			n_masks;		/* n_columns; 0 = no masks */
} PlannedTable;

/* All contents of the plan file. */
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
 * Write the plan to path, which must not exist.  The file gets this name when
 * it is complete and flushed.  Exits with a message on failure.
 */
extern void task_plan_write_file(const char *path, const PlanFile *file);

/*
 * Read a plan from memory into a struct that is all zeros.  Returns NULL, or
 * a description of what is wrong: the text is damaged, or contains numbers of
 * files, tables, groups or objects that do not exist.
 */
extern const char *task_plan_parse(PlanFile *file, const char *text,
								   size_t len);

/* Free what task_plan_parse() has read. */
extern void task_plan_free(PlanFile *file);

/* ----------
 * The plan in a task.
 * ----------
 */

typedef struct DumpTaskPlan
{
	DumpTaskHead head;
	PlannedStandby *standbys;
	int			n_standbys;
	DumpPlan	plan;			/* without table of contents */
} DumpTaskPlan;

/*
 * Read the plan.  Exits with a message if the file belongs to another user,
 * is damaged, was written by another version of the program, or is not the
 * plan of a dump.
 */
extern DumpTaskPlan *task_plan_read(const char *path);

/* ----------
 * The directory of a run, which contains the plan and the files of attempts
 * at tasks.  It is a subdirectory of the archive, or that of the file of
 * --plan.
 * ----------
 */

typedef struct TaskPlace
{
	char	   *directory;
	int			fd;				/* stays valid if the path is replaced */
	char	   *plan_path;		/* the plan's file */
} TaskPlace;

/*
 * Create the directory with mode 0700: the parent of plan, the path of a
 * file, or, if plan is NULL, ARCHIVE_TASKS_NAME in the directory of the
 * archive.  The directory and all its files are removed by
 * task_place_remove(), or when the program ends.
 */
extern TaskPlace *task_place_make(const char *plan, const char *archive);
extern void task_place_remove(TaskPlace *place);

/*
 * Read all of a file from regular_file_open_own(), and append a zero byte.
 * The caller owns the result.
 */
extern char *task_place_read(int fd, const char *path, size_t *len);

/* ----------
 * The lines with which attempts at tasks report files to the leader.
 *
 * An attempt is a process that does a task.  A task may have several
 * attempts, one after another or at the same time.  Each attempt appends
 * lines, one JSON object each, to a file of its own next to the plan.  A file
 * has only one writer, so that it can be on a network file system:
 *
 *	{ "is": "run", "run": id }				the first line
 *	{ "is": "file", "number": ..., ...}		a file of rows is complete and
 *											flushed
 *	{ "is": "object", "number": ..., ...}	a large object is
 *	{ "is": "refused", "number": job }		no session of the task can lock
 *											the job's table
 *	{ "is": "end" }							the attempt has done all it can
 *
 * The leader adds a file to the archive from the first attempt that reports
 * the file.  It removes the files of other attempts.
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
	uint64		number;			/* number of the file, object or job */
	FileResult	result;			/* of a file or object; new_reason is owned if
								 * the line was read from a file */
	char	   *reused;			/* result.reused as read; owned */
} TaskLine;

/* In a task: the file of results of this attempt. */
typedef struct TaskResults
{
	char	   *directory;		/* that of the plan */
	char	   *attempt;		/* its name, TASK.HOST.PROCESS.RANDOM */
	char	   *path;			/* the file */
	int			fd;
	uint64		written;		/* its size so far */
} TaskResults;

/* Create the file of an attempt, next to the plan at this path. */
extern void task_result_begin(TaskResults *results, const char *plan,
							  int task, const char *run_id);

/*
 * Append a line to the file.  This function and those below exit with a
 * message on failure.
 */
extern void task_result_write(TaskResults *results, const TaskLine *line);

/* Append a line with a result of this job. */
extern void task_result_report(TaskResults *to, const FileResults *results,
							   const Job *job, const FileResult *result);

/* Flush all lines to disk. */
extern void task_result_flush(const TaskResults *results);

/*
 * Write the last line, and flush the file: the attempt has done all it can.
 */
extern void task_result_end(TaskResults *results);

/* Parse a line without its newline.  Returns false if it is not valid. */
extern bool task_result_read(const char *text, size_t len, TaskLine *line);

/*
 * Free the members that task_result_read() has set, even if it returned
 * false.
 */
extern void task_result_free(TaskLine *line);

#endif							/* TASK_PLAN_H */
