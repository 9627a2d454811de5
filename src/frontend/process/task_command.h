/*
 * task_command.h
 *		The command of --run-tasks.
 */
#ifndef TASK_COMMAND_H
#define TASK_COMMAND_H

/*
 * The pattern, with %n for the number of tasks, %p for the plan's path as a
 * word of the shell, %l and %L for the tasks to be run, with commas or with
 * blanks in between, and %% for a percent sign; owned.  NULL if there is
 * anything else after a percent sign, or no %p.
 */
extern char *task_command(const char *pattern, const char *plan_path,
						  int n_tasks, const bool *wanted);

/*
 * The numbers of these tasks for a message, neighbours as "0-4095"; of many
 * ranges the first, and how many tasks there are more.  Owned.
 */
extern char *task_command_ranges(const bool *wanted, int n_tasks);

#endif							/* TASK_COMMAND_H */
