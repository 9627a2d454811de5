/*
 * pg_parbasebackup.c
 *		The main program of pg_parbasebackup, which takes a base backup of a
 *		running server like pg_basebackup, but with many connections, or
 *		extracts such a backup.
 */
#include "base/fe_compat.h"

#include "base/interrupt.h"
#include "basebackup/basebackup.h"
#include "extract/extract.h"
#include "options/options_parse.h"
#include "process/this_program.h"
#include "status/run.h"

/*
 * Extract a backup, with the same progress, events and signal handling as for
 * taking one.  This needs no server.
 */
static int
extract(const Options *options)
{
	progress_begin(options->progress, options->no_progress);
	run_event_begin(options);
	interrupt_install_leader();
	run_event_stage("extract");
	extract_backup(options);
	cleanup_forget_all();
	return 0;
}

int
main(int argc, char **argv)
{
	const Options *options;
	int			status;

	this_program_begin(argv[0], "pg_parbasebackup");
	options = backup_options_parse(argc, argv);
	connection_set_stall_timeout(options->stall_timeout);
	status = options->extract ? extract(options) :
		basebackup_take(options, argv[0]);
	this_program_check_output();
	return status;
}
