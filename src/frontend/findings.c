/*
 * findings.c
 *		Counts what is found before a run begins its work.
 */
#include "fe_compat.h"

#include "findings.h"

/* Messages come from anywhere, so this is the process's. */
static int	n_errors;

void
findings_count(int level)
{
	if (level >= PG_LOG_ERROR)
		n_errors++;
}

void
findings_settle(void)
{
	if (n_errors > 0)
		exit(1);
}
