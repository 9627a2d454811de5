/*
 * task_options.h
 *		The options of a dump by many hosts: --tasks, --task.
 */
#ifndef TASK_OPTIONS_H
#define TASK_OPTIONS_H

#include "options/options.h"

/* Exits with a message if they exclude each other, or others. */
extern void task_options_check(const Options *options);

/*
 * Which task of how many --task names; exits with a message if it is none, or
 * of another number than there is a plan for.
 */
extern void task_options_read_planned(const char *text, int n_planned,
									  int *task, int *n_tasks);

#endif							/* TASK_OPTIONS_H */
