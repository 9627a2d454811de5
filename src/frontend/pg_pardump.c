/*
 * pg_pardump.c
 *		The main program of pg_pardump, which dumps, copies, compares or
 *		verifies a database in parallel, even within tables, or all databases
 *		of a cluster.
 */
#include "base/fe_compat.h"

#include "cluster/cluster.h"
#include "cluster/globals.h"
#include "cluster/shared_snapshot.h"
#include "compare/compare.h"
#include "copy/copy.h"
#include "dump/dump.h"
#include "options/options_parse.h"
#include "process/this_program.h"
#include "verify/verify.h"

/* Also in the process of each database's run: see cluster_run.h. */
static int
pg_pardump_run(int argc, char **argv)
{
	const Options *options;
	int			status = 0;

	this_program_begin(argv[0], "pg_pardump");
	options = options_parse(argc, argv);
	connection_set_stall_timeout(options->stall_timeout);
	if (options->check)
	{
		connection_set_probes(CONNECTION_CHECK_PROBES);
		findings_begin_list();
	}
	if (options->shared_snapshot && !options->all_databases)
		shared_snapshot_expect(options);
	if (options->all_databases)
		status = options->verify ? cluster_verify(options, argv[0], pg_pardump_run) :
			options->shared_snapshot ? cluster_share_snapshot(options) :
			options->target ? cluster_copy(options, argv[0], pg_pardump_run) :
			cluster_dump(options, argv[0], pg_pardump_run);
	else if (options->verify)
		status = verify_archive(options);
	else if (options->compare_with)
		status = compare_databases(options, argv[0]);
	else if (options->task)
		dump_task(options);
	else if (options->target)
	{
		if (options->roles)
			role_copy(options, argv[0]);
		copy_database(options, argv[0]);
	}
	else
		dump_database(options, argv[0]);
	this_program_check_output();
	return status;
}

int
main(int argc, char **argv)
{
	return pg_pardump_run(argc, argv);
}
