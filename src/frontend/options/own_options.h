/*
 * own_options.h
 *		The options of pg_pardump and pg_parrestore that the PostgreSQL
 *		programs do not have, and their checks.
 */
#ifndef OWN_OPTIONS_H
#define OWN_OPTIONS_H

#include "options/option_table.h"

/* The ways to reuse a file of the previous archive in the new one. */
typedef enum CopyMethod
{
	COPY_METHOD_LINK,			/* each is used if the one before cannot be */
	COPY_METHOD_CLONE,
	COPY_METHOD_COPY,
	COPY_METHOD_PIPE			/* by a command of --pipe-copy, unread */
} CopyMethod;

/*
 * Returns the name of a method in --incremental-copy-method (which does not
 * accept the last one) and in the manifest.
 */
extern const char *copy_method_name(CopyMethod method);

/* Find the method with this name.  Returns false if there is none. */
extern bool copy_method_find(const char *name, CopyMethod *method);

/* Returns the table rows of these options. */
extern const OptionRow *own_options_rows(int *n);

/* Returns the method of --incremental-copy-method. */
extern CopyMethod own_options_copy_method(const Options *options);

/* Does --incremental-by specify WAL summaries? */
extern bool own_options_by_wal(const Options *options);

/*
 * Exits with a message if options cannot be used together, require another
 * option, or have an invalid value.  table contains all options of the
 * program.
 */
extern void own_options_check(const Options *options, const OptionTable *table);

/*
 * Read the number of the task, and the number of tasks, from the text of
 * --task.  Exits with a message if the text is not valid, or if the number of
 * tasks is not that of the plan, n_planned.
 */
extern void task_options_read_planned(const char *text, int n_planned,
									  int *task, int *n_tasks);

/*
 * Replace the placeholders in the pattern of --run-tasks: %n by the number of
 * tasks, %p by the plan's path as one word for the shell, %l and %L by the
 * tasks to run, separated by commas or spaces, and %% by a percent sign;
 * owned.  NULL if another character follows a percent sign, or if there is no
 * %p.
 */
extern char *task_options_command(const char *pattern, const char *plan_path,
								  int n_tasks, const bool *wanted);

#endif							/* OWN_OPTIONS_H */
