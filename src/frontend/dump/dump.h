/*
 * dump.h
 *		Dumps a database into a directory archive.
 */
#ifndef DUMP_H
#define DUMP_H

#include "options/options.h"

/*
 * Do what the options ask for.  Returns when the archive is whole; exits with
 * a message, and without an archive, if anything fails.
 */
extern void dump_database(const Options *options, const char *argv0);

/*
 * Do one task of a dump by many hosts (tasks/task_plan.h), which --task
 * names, by the plan of --plan.  Returns when all its files are made, or
 * others have made them.  Exits with a message: with WORKER_EXIT_RETRY if the
 * server could not be reached, or was lost, so that another attempt may
 * succeed; with 1 if none can.
 */
extern void dump_task(const Options *options);

#endif							/* DUMP_H */
