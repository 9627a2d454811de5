/*
 * own_options.h
 *		The options that pg_dump does not have.
 */
#ifndef OWN_OPTIONS_H
#define OWN_OPTIONS_H

#include "getopt_long.h"

#include "options/copy_method.h"
#include "options/options.h"

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

/* Exits with a message if options of ours exclude each other. */
extern void own_options_check(const Options *options);

#endif							/* OWN_OPTIONS_H */
