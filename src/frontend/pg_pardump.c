/*
 * pg_pardump.c
 *		Dumps or copies a PostgreSQL database in parallel, within every table.
 */
#include "base/fe_compat.h"

#include <fcntl.h>
#include <locale.h>
#include <unistd.h>

#include "base/findings.h"
#include "base/interrupt.h"
#include "base/run_clock.h"
#include "copy/copy.h"
#include "dump/dump.h"
#include "options/options_parse.h"
#include "verify/verify.h"

/*
 * Standard files that are closed: what is opened next would have their
 * numbers, and get what is printed.  So they are opened, in a way that
 * writing fails.
 */
static void
fill_standard_files(void)
{
	int			fd;

	do
		fd = open(DEVNULL, O_RDONLY);
	while (fd >= 0 && fd <= STDERR_FILENO);
	close(fd);
}

/* A verdict or a plan that nobody could read must not look like success. */
static void
check_output(void)
{
	if (fflush(stdout) != 0 || ferror(stdout))
		pg_fatal("could not write to standard output: %m");
}

int
main(int argc, char **argv)
{
	const Options *options;
	int			status = 0;

	run_clock_start();
	fill_standard_files();
	pg_logging_init(argv[0]);
	pg_logging_set_level(PG_LOG_WARNING);
	set_pglocale_pgservice(argv[0], "pg_pardump");
	setlocale(LC_NUMERIC, "C"); /* numbers are read by programs, too */
	interrupt_set_process_signals();

	options = options_parse(argc, argv);
	if (options->check)
		findings_begin_list();
	if (options->verify)
		status = verify_archive(options);
	else if (options->target)
		copy_database(options, argv[0]);
	else
		dump_database(options, argv[0]);
	check_output();
	return status;
}
