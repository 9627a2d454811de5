/*
 * pg_pardump.c
 *		Dumps, copies or compares a PostgreSQL database in parallel, within
 *		every table.
 */
#include "base/fe_compat.h"

#include "base/findings.h"
#include "compare/compare_command.h"
#include "copy/copy.h"
#include "dump/dump.h"
#include "dump/dump_task.h"
#include "options/options_parse.h"
#include "process/this_program.h"
#include "verify/verify.h"

int
main(int argc, char **argv)
{
	const Options *options;
	int			status = 0;

	this_program_begin(argv[0], "pg_pardump");
	options = options_parse(argc, argv);
	if (options->check)
		findings_begin_list();
	if (options->verify)
		status = verify_archive(options);
	else if (options->compare_with)
		status = compare_databases(options, argv[0]);
	else if (options->target)
		copy_database(options, argv[0]);
	else if (options->task)
		dump_task(options);
	else
		dump_database(options, argv[0]);
	this_program_check_output();
	return status;
}
