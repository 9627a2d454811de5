/*
 * pg_parrestore.c
 *		Restores a PostgreSQL database from an archive in parallel, within
 *		every table.
 */
#include "base/fe_compat.h"

#include "base/findings.h"
#include "options/restore_options.h"
#include "process/this_program.h"
#include "restore/restore.h"
#include "restore/restore_task.h"

int
main(int argc, char **argv)
{
	const Options *options;
	int			status = 0;

	this_program_begin(argv[0], "pg_parrestore");
	options = restore_options_parse(argc, argv);
	if (options->check)
		findings_begin_list();
	if (options->task)
		restore_task(options);
	else
		status = restore_database(options, argv[0]);
	this_program_check_output();
	return status;
}
