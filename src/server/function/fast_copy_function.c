/*-------------------------------------------------------------------------
 *
 * fast_copy_function.c
 *	  The SQL function pg_pardump_fast_copy(), which loads the library by
 *	  being called, and switches its COPY FROM on or off.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/guc.h"

#include "function/argument.h"
#include "load/load_hook.h"

PG_FUNCTION_INFO_V1(pg_pardump_fast_copy);

/*
 * pg_pardump_fast_copy(enable boolean)
 *
 * As SET pg_pardump.fast_copy: for the session, and undone if the transaction
 * is.
 */
Datum
pg_pardump_fast_copy(PG_FUNCTION_ARGS)
{
	check_not_null(fcinfo, 0, "enable");
	SetConfigOption(FAST_COPY_SETTING, PG_GETARG_BOOL(0) ? "on" : "off",
					PGC_USERSET, PGC_S_SESSION);
	PG_RETURN_VOID();
}
