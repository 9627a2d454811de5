/*
 * dump_task_format.c
 *		The form of a dump's plan in its file.
 */
#include "base/fe_compat.h"

#include "tasks/dump_task_format.h"

#define HEAD(name, kind, member) {name, kind, offsetof(DumpTaskHead, member)}
#define TABLE(name, kind, member) {name, kind, offsetof(PlannedTable, member)}
#define STANDBY(name, kind, member) {name, kind, offsetof(PlannedStandby, member)}
#define DATA_FILE(name, kind, member) {name, kind, offsetof(DataFile, member)}
#define PREVIOUS(name, kind, member) {name, kind, offsetof(PlannedPrevious, member)}

const PlanField dump_task_head_fields[] = {
	HEAD("snapshot", PLAN_TEXT, snapshot),
	HEAD("snapshot_identity", PLAN_TEXT, snapshot_identity),
	HEAD("encoding", PLAN_TEXT, encoding),
	HEAD("compression", PLAN_TEXT, compression),
	HEAD("server_compression", PLAN_TEXT, server_compression),
	HEAD("checksums", PLAN_TEXT, checksums),
	HEAD("lock_wait_ms", PLAN_INT, lock_wait_ms),
	HEAD("extra_float_digits", PLAN_TEXT, extra_float_digits),
	HEAD("quote_all_identifiers", PLAN_BOOL, quote_all_identifiers),
	HEAD("no_sync", PLAN_BOOL, no_sync),
	HEAD("archive", PLAN_TEXT, archive),
	HEAD("pipe", PLAN_TEXT, pipe_command),
	HEAD("server_version", PLAN_INT, server_version),
	HEAD("block_bytes", PLAN_INT, block_bytes),
	HEAD("extension_missing", PLAN_TEXT, extension_missing),
	HEAD("extension_functions", PLAN_TEXT, extension_functions),
	HEAD("extension_table", PLAN_TEXT, extension_table),
	HEAD("fingerprint_algorithm", PLAN_TEXT, fingerprint_algorithm),
	HEAD("fingerprint_key", PLAN_TEXT, fingerprint_key),
	HEAD("fingerprint_settings", PLAN_TEXT, fingerprint_settings),
	HEAD("previous", PLAN_TEXT, previous),
	HEAD("copy_method", PLAN_TEXT, copy_method),
	HEAD("knows_changes", PLAN_BOOL, knows_changes),
	HEAD("objects", PLAN_INT, n_objects),
	{NULL}
};

const PlanField dump_task_standby_fields[] = {
	STANDBY("name", PLAN_TEXT, name),
	STANDBY("conninfo", PLAN_TEXT, conninfo),
	STANDBY("snapshot", PLAN_TEXT, snapshot),
	STANDBY("identity", PLAN_TEXT, identity),
	STANDBY("holder", PLAN_TEXT, holder_query),
	{NULL}
};

const PlanField dump_task_table_fields[] = {
	TABLE("name", PLAN_TEXT, table.name),
	TABLE("oid", PLAN_UINT32, table.oid),
	TABLE("kind", PLAN_CHAR, table.relkind),
	TABLE("stranger", PLAN_TEXT, table.stranger),
	TABLE("condition", PLAN_TEXT, table.condition),
	TABLE("filter", PLAN_TEXT, table.filter),
	TABLE("by_sql", PLAN_TEXT, decided.sql_reason),
	TABLE("not_reused", PLAN_TEXT, decided.new_reason),
	{NULL}
};

const PlanField dump_task_file_fields[] = {
	DATA_FILE("table", PLAN_INT, table),
	DATA_FILE("chunk", PLAN_INT, chunk_no),
	DATA_FILE("chunks", PLAN_INT, n_chunks),
	DATA_FILE("start", PLAN_UINT32, start_block),
	DATA_FILE("end", PLAN_UINT32, end_block),
	DATA_FILE("bytes", PLAN_UINT64, est_bytes),
	DATA_FILE("seems_empty", PLAN_BOOL, seems_empty),
	DATA_FILE("id", PLAN_INT, dump_id),
	DATA_FILE("untouched", PLAN_BOOL, untouched),
	{NULL}
};

const PlanField dump_task_previous_fields[] = {
	PREVIOUS("path", PLAN_TEXT, file.path),
	PREVIOUS("rows", PLAN_UINT64, file.rows),
	PREVIOUS("raw_bytes", PLAN_UINT64, file.raw_bytes),
	PREVIOUS("stored_bytes", PLAN_UINT64, file.stored_bytes),
	PREVIOUS("checksum", PLAN_TEXT, checksum),
	PREVIOUS("fingerprint", PLAN_TEXT, file.fingerprint),
	PREVIOUS("first_fingerprint", PLAN_TEXT, file.first_fingerprint),
	PREVIOUS("definition", PLAN_TEXT, file.definition),
	{NULL}
};
