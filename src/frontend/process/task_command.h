/*
 * task_command.h
 *		Makes the command of --run-tasks from the user's pattern.
 */
#ifndef TASK_COMMAND_H
#define TASK_COMMAND_H

/*
 * Replace the placeholders in the pattern: %n by the number of tasks, %p by
 * the plan's path as one word for the shell, %l and %L by the tasks to run,
 * separated by commas or spaces, and %% by a percent sign; owned.  NULL if
 * another character follows a percent sign, or if there is no %p.
 */
extern char *task_command(const char *pattern, const char *plan_path,
						  int n_tasks, const bool *wanted);

/*
 * The numbers of these tasks for a message, with ranges as "0-4095".  If
 * there are many ranges, only the first are named, with the number of
 * remaining tasks.  Owned.
 */
extern char *task_command_ranges(const bool *wanted, int n_tasks);

#endif							/* TASK_COMMAND_H */
