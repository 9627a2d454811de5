/*
 * chunk_reason.h
 *		Why a table is dumped whole, or read by SQL.
 *
 * Reasons are said to users, and never freed.
 */
#ifndef CHUNK_REASON_H
#define CHUNK_REASON_H

#include "plan/dump_table.h"
#include "plan/server_extension.h"

/* TID range scans came with 14; before, every chunk would read all. */
#define MIN_SERVER_FOR_CHUNKS 140000

/* What they depend on besides the table. */
typedef struct ChunkRules
{
	const Options *options;
	const ServerExtension *extension;
	int			server_version; /* as PQserverVersion() has it */
	uint64		chunk_bytes;
} ChunkRules;

/* Why the extension cannot read a table, but SQL can; NULL if it can. */
extern const char *chunk_reason_no_extension(const ChunkRules *rules,
											 const DumpTable *table);

/* Why a table cannot be read by block ranges; NULL if it can. */
extern const char *chunk_reason_no_split(const ChunkRules *rules,
										 const DumpTable *table);

/* Why a table is one file; NULL if it is to be split.  Some are told. */
extern const char *chunk_reason_whole(const ChunkRules *rules,
									  const DumpTable *table);

/* Is it so small that SQL reads it anyway, if it is one file? */
extern bool chunk_reason_is_small(const DumpTable *table);

/* Why SQL reads a table of n_files files; NULL if the extension does. */
extern const char *chunk_reason_sql(const ChunkRules *rules,
									const DumpTable *table, int n_files);

#endif							/* CHUNK_REASON_H */
