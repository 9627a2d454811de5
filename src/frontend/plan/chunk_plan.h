/*
 * chunk_plan.h
 *		How each table is divided: one file, or chunks of blocks.
 *
 * Planning only decides.  Its result is an array of data files to be, which
 * the archive's layout names and the workers fill.
 */
#ifndef CHUNK_PLAN_H
#define CHUNK_PLAN_H

#include "storage/block.h"

#include "plan/dump_table.h"
#include "plan/previous_archive.h"
#include "plan/server_extension.h"

/* ----------
 * Why a table is dumped whole, or read by SQL.
 *
 * Reasons are said to users, and never freed.
 * ----------
 */

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

/* Is it so small that SQL reads it anyway, if it is one file? */
extern bool chunk_reason_is_small(const DumpTable *table);

/* ----------
 * A table as the extension in the server would cut it.
 * ----------
 */

typedef struct ServerChunk
{
	BlockNumber start_block;
	BlockNumber end_block;		/* exclusive; InvalidBlockNumber if the server
								 * tells none */
	uint64		est_bytes;		/* bytes to dump, estimated */
	bool		seems_empty;	/* no row was seen */
} ServerChunk;

/*
 * Ask the server for chunks of that many bytes to dump.  Nothing that it says
 * is believed yet.  *n is their number; owned.
 */
extern ServerChunk *server_chunks_read(PGconn *conn, const DumpTable *table,
									   uint64 chunk_bytes, int *n);

/* That function, or what stands for a server. */
typedef ServerChunk *(*ServerChunksCallback) (PGconn *conn,
											  const DumpTable *table,
											  uint64 chunk_bytes, int *n);

/* The rows of a table, or of a range of its blocks, that one file holds. */
typedef struct DataFile
{
	int			table;			/* index in DumpTables */
	int			chunk_no;		/* from 1; 0 if the file holds all rows */
	int			n_chunks;		/* of the table; 1 if whole */
	BlockNumber start_block;
	BlockNumber end_block;		/* exclusive; InvalidBlockNumber = no end */
	uint64		est_bytes;		/* bytes to dump, estimated */
	bool		seems_empty;	/* no row was seen when it was planned */
	int			dump_id;		/* names the file; set by archive_layout */
	const ManifestFile *previous;	/* of the same blocks, to be used again if
									 * its rows are the same; or NULL */
	bool		untouched;		/* no block was written to since then, as
								 * summaries of the log prove */
} DataFile;

/* Why it is read by SQL, mostly; a summary of a copy has a shorter text. */
#define SMALL_TABLE "it is a small table"

/* What was decided about one table.  Reasons are not freed. */
typedef struct TablePlan
{
	int			first_file;		/* in ChunkPlan.files */
	int			n_files;
	const char *whole_reason;	/* NULL if it is split */
	const char *sql_reason;		/* NULL if the extension reads it */
	const char *new_reason;		/* why no file of the previous archive can be
								 * used again; NULL if one may be, or there is
								 * no such archive */
} TablePlan;

typedef struct ChunkPlan
{
	DataFile   *files;			/* a table's files are neighbours, in order */
	int			n_files;
	TablePlan  *tables;			/* as many as DumpTables has, in its order */
	uint64		chunk_bytes;	/* as asked for, or by the rule */
	uint64		total_bytes;	/* of all tables, estimated */
} ChunkPlan;

/*
 * Plan the chunks of all tables.
 *
 * The size of a chunk: --chunk-size, else the tables' total size / (16 x
 * jobs), at least 32 MB (8 MB in a direct copy) and at most 1 GB, or, from
 * about 88 TB on, what makes 90,000 of all; a table is split when it has more
 * than one and a half of that.  By the rule, the last
 * chunks of what is read last are cut in halves and quarters.  With
 * --max-table-segment-pages=N a table of more than N blocks is split in
 * chunks of N blocks.
 *
 * With the extension the server cuts chunks of equal bytes to dump, of which
 * those with more than four times as much in blocks are cut again; elsewhere
 * all blocks of a table count the same.  Tables are dumped whole that cannot
 * be read by block ranges: with servers before 14, foreign tables, other
 * access methods than heap, an extension's configuration tables with a
 * condition; and those that only SQL can read, and of which a query might run
 * what a role that is not trusted wrote.  Which tables the extension reads is
 * settled here too.
 *
 * Tables of a previous archive, which may be NULL, are cut as they were,
 * unless the user wants chunks of another size; and without --chunk-size that
 * is its size.
 *
 * Only ask, which is server_chunks_read(), uses conn.
 */
extern ChunkPlan *chunk_plan_make(const Options *options,
								  const DumpTables *tables,
								  const ServerExtension *extension,
								  const PreviousArchive *previous,
								  ServerChunksCallback ask, PGconn *conn);

/* How many files of a table may be the previous archive's. */
extern int	chunk_plan_count_reusable(const ChunkPlan *plan, int table);

#endif							/* CHUNK_PLAN_H */
