/*-------------------------------------------------------------------------
 *
 * index_function.c
 *	  The SQL function pg_pardump_compare_builds(), which compares the
 *	  extension's index builds with the server's.
 *
 * A session calls it before it builds indexes in a transaction block, where
 * the comparison cannot start by itself (index/index_compare.c).
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
 * Returns why the server has to build the indexes of this session: half a
 * sentence, or NULL if the extension's builds are the same as the server's.
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
