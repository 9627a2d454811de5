/*
 * own_options.h
 *		The options that pg_dump does not have.
 */
#ifndef OWN_OPTIONS_H
#define OWN_OPTIONS_H

#include "options/option_table.h"

/* How a file of the previous archive gets into the new one. */
typedef enum CopyMethod
{
	COPY_METHOD_LINK,			/* each where the one before cannot */
	COPY_METHOD_CLONE,
	COPY_METHOD_COPY
} CopyMethod;

/* As --incremental-copy-method and the manifest write it. */
extern const char *copy_method_name(CopyMethod method);

/* The method of this name; false if there is none. */
extern bool copy_method_find(const char *name, CopyMethod *method);

/* Their rows. */
extern const OptionRow *own_options_rows(int *n);

/* Which --incremental-copy-method asks for. */
extern CopyMethod own_options_copy_method(const Options *options);

/* Does --incremental-by ask for summaries of the write-ahead log? */
extern bool own_options_by_wal(const Options *options);

/*
 * Exits with a message if options exclude each other, or need another one, or
 * have a value that is not allowed.  table: all that the program has.
 */
extern void own_options_check(const Options *options, const OptionTable *table);

/*
 * Which task --task names, and of how many; exits with a message if the text
 * is not of that form, or not of as many as are in the plan, n_planned.
 */
extern void task_options_read_planned(const char *text, int n_planned,
									  int *task, int *n_tasks);

#endif							/* OWN_OPTIONS_H */
