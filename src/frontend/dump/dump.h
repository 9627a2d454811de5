/*
 * dump.h
 *		Dumps a database into an archive, which is the default mode of
 *		pg_pardump, or does one task of a distributed dump.
 */
#ifndef DUMP_H
#define DUMP_H

#include "options/options.h"

/*
 * Dump the database that the options specify.  Returns when the archive is
 * complete.  On failure, exits with a message, and leaves no archive.
 */
extern void dump_database(const Options *options, const char *argv0);

/*
 * Do one task of a distributed dump (tasks/task_plan.h): the task of --task,
 * in the plan of --plan.  Returns when all its files are complete, in this
 * attempt or another one.  Exits with a message otherwise: with
 * WORKER_EXIT_RETRY if the server could not be reached or the connection was
 * lost, so that another attempt may succeed, and with 1 if no attempt can.
 */
extern void dump_task(const Options *options);

#endif							/* DUMP_H */
