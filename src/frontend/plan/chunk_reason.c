/*
 * chunk_reason.c
 *		Why a table is dumped whole, or read by SQL.
 */
#include "base/fe_compat.h"

#include "catalog/pg_class_d.h"

#include "base/message.h"
#include "plan/chunk_reason.h"

/*
 * COPY of a whole table starts in half the time of a query that calls the
 * extension, 0.1 ms; the extension makes up for that from about this size.
 */
#define SMALL_TABLE_BYTES (128 * 1024)

/* What neither block ranges nor the extension are for. */
static const char *
not_plain_heap(const DumpTable *table)
{
	if (table->relkind != RELKIND_RELATION)
		return "it is a foreign table";
	if (!table->is_heap)
		return "its access method is not heap";
	if (table->condition)
		return "it is an extension's configuration table with a condition";
	return NULL;
}

const char *
chunk_reason_no_extension(const ChunkRules *rules, const DumpTable *table)
{
	const char *reason = not_plain_heap(table);

	if (rules->extension->missing)
		return rules->extension->missing;
	if (reason)
		return reason;
	if (table->filter)
		return "its rows are filtered";
	if (table->masks)
		return "columns of it are masked";
	if (table->row_security)
		return "row security applies to it";
	return NULL;
}

const char *
chunk_reason_no_split(const ChunkRules *rules, const DumpTable *table)
{
	const char *reason = not_plain_heap(table);

	if (rules->server_version < MIN_SERVER_FOR_CHUNKS)
		return "the server is older than 14";
	if (reason)
		return reason;
	/* one COPY checks the key at its end, chunk by chunk it would fail */
	if (table->references_itself && !table->has_definition)
		return "it has a foreign key to itself and the dump does not create it";
	if (table->in_cycle)
		return "it is an extension's table whose foreign keys form a cycle with others";
	if (table->stranger && chunk_reason_no_extension(rules, table))
		return psprintf("a query could run functions of role \"%s\", which owns it, its parent or its schema (--trust-owners)",
						printable(table->stranger));
	return NULL;
}

const char *
chunk_reason_whole(const ChunkRules *rules, const DumpTable *table)
{
	uint64		segment_pages = rules->options->segment_pages;
	const char *reason;

	if (rules->options->no_chunks)
		return "chunks are not wanted";
	if (segment_pages != 0 && table->heap_blocks <= segment_pages)
		return "it is not larger than --max-table-segment-pages";
	if (segment_pages == 0 &&
		table->total_bytes / 3 <= rules->chunk_bytes / 2)
		return "it is not larger than one and a half chunks";
	/* a table of one block cannot be cut, even with much TOAST data */
	if (table->heap_blocks < 2)
		return "it has one block";
	reason = chunk_reason_no_split(rules, table);
	/* that of the server is said once, and not for every table */
	if (reason && rules->server_version >= MIN_SERVER_FOR_CHUNKS)
		pg_log_info("table %s is dumped whole: %s", printable(table->name),
					reason);
	return reason;
}

bool
chunk_reason_is_small(const DumpTable *table)
{
	return table->total_bytes < SMALL_TABLE_BYTES;
}

const char *
chunk_reason_sql(const ChunkRules *rules, const DumpTable *table, int n_files)
{
	const char *reason = chunk_reason_no_extension(rules, table);
	const char *format = rules->options->copy_format;

	if (reason)
		return reason;
	/* only the extension reads raw tuples */
	if (format && strcmp(format, "raw") == 0)
		return NULL;
	if (n_files == 1 && chunk_reason_is_small(table))
		return "it is small";
	return NULL;
}
