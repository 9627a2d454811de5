/*
 * chunk_plan.h
 *		Divides each table into chunks, or decides to read it as a whole.
 *
 * This only makes a plan.  The result is an array of data files, which
 * archive_layout.h names and the workers write.
 */
#ifndef CHUNK_PLAN_H
#define CHUNK_PLAN_H

#include "plan/dump_table.h"
#include "plan/previous_archive.h"
#include "plan/server_extension.h"

/* ----------
 * The reasons why a table is not split, or read with SQL.
 *
 * Reasons are shown to users, and never freed.
 * ----------
 */

/*
 * PostgreSQL 14 added TID range scans; before, every chunk would scan the
 * whole table.
 */
#define MIN_SERVER_FOR_CHUNKS 140000

/* What the reasons depend on, besides the table. */
typedef struct ChunkRules
{
	const Options *options;
	const ServerExtension *extension;
	int			server_version; /* from PQserverVersion() */
	uint64		chunk_bytes;
} ChunkRules;

/* Is the table so small that SQL reads it in any case, if it is one file? */
extern bool chunk_reason_is_small(const DumpTable *table);

/* ----------
 * The chunks that the extension proposes.
 * ----------
 */

typedef struct ServerChunk
{
	BlockNumber start_block;
	BlockNumber end_block;		/* exclusive; InvalidBlockNumber if the server
								 * returned NULL */
	uint64		est_bytes;		/* bytes to dump, estimated */
	bool		seems_empty;	/* the server saw no rows in it */
} ServerChunk;

/*
 * Query the server for chunks with this many bytes to dump.  The result is
 * not checked yet.  *n is their number; owned.
 */
extern ServerChunk *server_chunks_read(PGconn *conn, const DumpTable *table,
									   uint64 chunk_bytes, int *n);

/*
 * The type of that function, or of one that replaces a server in unit tests.
 */
typedef ServerChunk *(*ServerChunksCallback) (PGconn *conn,
											  const DumpTable *table,
											  uint64 chunk_bytes, int *n);

/* A data file: the rows of a table, or of a range of its blocks. */
typedef struct DataFile
{
	int			table;			/* index in DumpTables */
	int			chunk_no;		/* from 1; 0 if the file holds all rows */
	int			n_chunks;		/* chunks of the table; 1 if not split */
	BlockNumber start_block;
	BlockNumber end_block;		/* exclusive; InvalidBlockNumber = no end */
	uint64		est_bytes;		/* bytes to dump, estimated */
	bool		seems_empty;	/* the server saw no rows in it when it was
								 * planned */
	int			dump_id;		/* determines the file's name; set by
								 * archive_layout.c */
	const ManifestFile *previous;	/* the file of the same blocks, which is
									 * reused if its rows are the same; or
									 * NULL */
	bool		untouched;		/* WAL summaries prove that no block has
								 * changed since then */
} DataFile;

/*
 * The most frequent reason for SQL; the summary of a copy shows a shorter
 * text.
 */
#define SMALL_TABLE "it is a small table"

/* The plan for one table.  Reasons are not freed. */
typedef struct TablePlan
{
	int			first_file;		/* in ChunkPlan.files */
	int			n_files;
	const char *whole_reason;	/* NULL if it is split */
	const char *sql_reason;		/* NULL if the extension reads it */
	const char *new_reason;		/* why no file of the previous archive can be
								 * reused; NULL if one may be, or there is no
								 * such archive */
} TablePlan;

typedef struct ChunkPlan
{
	DataFile   *files;			/* the files of a table are adjacent and in
								 * order */
	int			n_files;
	TablePlan  *tables;			/* one for each table, in the order of
								 * DumpTables */
	uint64		chunk_bytes;	/* from the options or the rule */
	uint64		total_bytes;	/* estimated bytes of all tables */
} ChunkPlan;

/*
 * Plan the chunks of all tables.
 *
 * The size of a chunk is --chunk-size.  By default, it is the total size of
 * all tables divided by 16 times the number of jobs, but at least 32 MB (8 MB
 * in a direct copy) and at most 1 GB or, from about 88 TB on, the size that
 * makes 90,000 chunks in total.  A table is split if it has more than one and
 * a half times that size.  Also by default, the last chunks to be read are
 * cut into halves and quarters.  With --max-table-segment-pages=N a table
 * with more than N blocks is split into chunks of N blocks.
 *
 * With the extension the server proposes chunks with equal numbers of bytes
 * to dump; a chunk with more than four times as many bytes in its blocks is
 * cut again.  Without it, all blocks of a table count the same.  A table is
 * not split if it cannot be read by block ranges: on servers before 14,
 * foreign tables, tables with other access methods than heap, and
 * configuration tables of an extension with a condition.  It is also not
 * split if only SQL can read it, and a query of it might run code of an
 * untrusted role.  This function also decides which tables the extension
 * reads.
 *
 * Tables of a previous archive (which may be NULL) are cut as there, unless
 * the user has chosen another size.  Without --chunk-size the previous
 * archive's size is used.
 *
 * Only ask(), which is server_chunks_read(), uses conn.
 */
extern ChunkPlan *chunk_plan_make(const Options *options,
								  const DumpTables *tables,
								  const ServerExtension *extension,
								  const PreviousArchive *previous,
								  ServerChunksCallback ask, PGconn *conn);

/*
 * Returns how many files of a table may be reused from the previous archive.
 */
extern int	chunk_plan_count_reusable(const ChunkPlan *plan, int table);

#endif							/* CHUNK_PLAN_H */
