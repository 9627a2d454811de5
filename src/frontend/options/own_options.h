/*
 * own_options.h
 *		The options that pg_dump does not have.
 */
#ifndef OWN_OPTIONS_H
#define OWN_OPTIONS_H

#include "getopt_long.h"

#include "options/options.h"

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

/* What getopt_long() returns for the first of them; the others follow. */
#define OWN_OPTION_FIRST 2000

/* getopt_long()'s table: pg_dump's options, then our own; owned. */
extern struct option *own_options_append(const struct option *pg_dump_options);

/* Store the option that getopt_long() returned; false if it is not one. */
extern bool own_option_read(Options *options, int c, const char *arg);

/*
 * Note a flag of pg_dump's that a direct copy needs to know: by its name, or
 * if that is NULL by its letter.
 */
extern void own_options_note_flag(Options *options, int letter,
								  const char *name);

/* Which --incremental-copy-method asks for. */
extern CopyMethod own_options_copy_method(const Options *options);

/* Does --incremental-by ask for summaries of the write-ahead log? */
extern bool own_options_by_wal(const Options *options);

/*
 * Exits with a message if options exclude each other, or need another one, or
 * have a value that is not allowed.
 */
extern void own_options_check(const Options *options);

/*
 * Which task --task names, and of how many; exits with a message if the text
 * is not of that form, or not of as many as are in the plan, n_planned.
 */
extern void task_options_read_planned(const char *text, int n_planned,
									  int *task, int *n_tasks);

#endif							/* OWN_OPTIONS_H */
