/*
 * pg_pardump.c
 *		Dumps or copies a PostgreSQL database in parallel, within every table.
 */
#include "fe_compat.h"

#include "cleanup.h"
#include "copy.h"
#include "dump.h"
#include "verify.h"

int
main(int argc, char **argv)
{
	const Options *options;

	pg_logging_init(argv[0]);
	pg_logging_set_level(PG_LOG_WARNING);
	set_pglocale_pgservice(argv[0], "pg_pardump");
	cleanup_set_process_signals();

	options = options_parse(argc, argv);
	if (options->verify)
		return verify_archive(options);
	if (options->target)
		copy_database(options, argv[0]);
	else
		dump_database(options, argv[0]);
	return 0;
}
