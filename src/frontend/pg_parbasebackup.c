/*
 * pg_parbasebackup.c
 *		Takes a base backup of a running PostgreSQL server, as pg_basebackup
 *		does, by many connections, or extracts one.
 */
#include "base/fe_compat.h"

#include "base/interrupt.h"
#include "basebackup/basebackup.h"
#include "extract/extract.h"
#include "options/backup_options.h"
#include "process/this_program.h"
#include "status/run.h"

/* No server is asked; the pieces are the same as a backup's. */
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
