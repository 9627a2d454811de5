/*
 * pg_pardump.c
 *		Dumps a PostgreSQL database in parallel, within every table.
 */
#include "fe_compat.h"

#include "cleanup.h"
#include "dump.h"

int
main(int argc, char **argv)
{
	pg_logging_init(argv[0]);
	pg_logging_set_level(PG_LOG_WARNING);
	set_pglocale_pgservice(argv[0], "pg_pardump");
	cleanup_set_process_signals();

	dump_database(options_parse(argc, argv), argv[0]);
	return 0;
}
