/*-------------------------------------------------------------------------
 *
 * index_function.c
 *	  The SQL function pg_pardump_compare_builds().
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "index/index_build.h"
#include "index/index_compare.h"

PG_FUNCTION_INFO_V1(pg_pardump_compare_builds);

/*
 * pg_pardump_compare_builds()
 *
 * Why the indexes of this session are left to the server: half a sentence;
 * NULL if builds are the same as the server's.
 */
Datum
pg_pardump_compare_builds(PG_FUNCTION_ARGS)
{
	const char *reason = index_build_unsupported();

	if (reason == NULL)
	{
		PreventCommandIfReadOnly("pg_pardump_compare_builds()");
		PreventCommandIfParallelMode("pg_pardump_compare_builds()");
		index_compare_run();
		reason = index_compare_reason();
	}
	if (reason == NULL)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(cstring_to_text(reason));
}
