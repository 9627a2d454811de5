/*
 * unchecked_snapshot.c
 *		A library for a test: what pg_pardump_adopt_snapshot() would do without
 *		its rule, which the server's own check of an import does not replace.
 *
 * It is the function's own source, so that it reads and exports as that does.
 */
#include "function/snapshot_function.c"
#include "function/sql_call.c"
#include "shared/snapshot_text.c"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(adopt_unchecked);

/* For sql_call.c, whose functions about compression are not called. */
bool
compress_spec_parse(const char *text, CompressSpec *spec, char *error)
{
	return false;
}

Datum
adopt_unchecked(PG_FUNCTION_ARGS)
{
	char	   *id = read_identifier(fcinfo);
	SnapshotText text = read_snapshot(id);

	check_guard();
	(void) GetTransactionSnapshot();
	PG_RETURN_TEXT_P(cstring_to_text(ExportSnapshot(make_snapshot(id, &text))));
}
