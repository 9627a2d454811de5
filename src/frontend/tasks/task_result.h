/*
 * task_result.h
 *		The lines by which attempts at tasks report files to the leader.
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
 */
#ifndef TASK_RESULT_H
#define TASK_RESULT_H

#include "plan/job_queue.h"
#include "process/file_result.h"

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

#endif							/* TASK_RESULT_H */
