/*
 * pg_parrestore.c
 *		The main program of pg_parrestore, which restores a database from an
 *		archive in parallel, even within tables, or all databases of a
 *		cluster.
 */
#include "base/fe_compat.h"

#include "cluster/cluster.h"
#include "options/options_parse.h"
#include "process/this_program.h"
#include "restore/restore.h"

/* Also in the process of each database's run: see cluster_run.h. */
static int
pg_parrestore_run(int argc, char **argv)
{
	const Options *options;
	int			status = 0;

	this_program_begin(argv[0], "pg_parrestore");
	options = restore_options_parse(argc, argv);
	if (options->check)
	{
		connection_set_probes(CONNECTION_CHECK_PROBES);
		findings_begin_list();
	}
	if (options->all_databases)
		status = cluster_restore(options, argv[0], pg_parrestore_run);
	else
		status = restore_database(options, argv[0]);
	this_program_check_output();
	return status;
}

int
main(int argc, char **argv)
{
	return pg_parrestore_run(argc, argv);
}
