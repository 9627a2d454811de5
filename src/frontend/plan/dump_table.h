/*
 * dump_table.h
 *		The tables whose rows are to be dumped, as the server has them.
 */
#ifndef DUMP_TABLE_H
#define DUMP_TABLE_H

#include "libpq-fe.h"

#include "archive/toc.h"
#include "options/options.h"

/* ----------
 * Whose functions may run in our sessions (doc/security.md).
 * ----------
 */

/*
 * Superusers and the role that connected, to follow WITH: in spite of --role,
 * a function can go back to that.
 */
#define TRUSTED_SQL \
"trusted (oid) AS (SELECT r.oid FROM pg_catalog.pg_roles r" \
" WHERE r.rolsuper OR r.rolname OPERATOR(pg_catalog.=) session_user)"

/* What is written in place of a column's values (--mask). */
typedef struct ColumnMask
{
	char	   *expression;		/* as the user gave it; NULL = nothing is, the
								 * column is not masked */
	char	   *sql;			/* the same, of the column's type */
	int			attnum;			/* the column's, in its table */
} ColumnMask;

typedef struct DumpTable
{
	const TocEntry *entry;		/* its TABLE DATA entry; borrowed */
	Oid			oid;
	Oid			filenode;		/* of its files once it is locked; 0 = none */
	Oid			tablespace;		/* where they are */
	bool		is_logged;		/* changes of them are */
	char		relkind;
	bool		is_heap;		/* stored by the heap access method */
	bool		row_security;	/* policies apply to the current user */
	bool		columns_granted;	/* who may read columns, not the table */
	char	   *root_schema;	/* of the partitioned table it is part of, at
								 * the top; NULL if it is not a partition */
	char	   *root_table;
	bool		references_itself;	/* by a foreign key, or the partitioned
									 * table it is part of */
	int		   *referenced;		/* of an extension's table, whose keys exist
								 * before rows are loaded: the numbers of the
								 * other tables that they reference */
	int			n_referenced;
	bool		in_cycle;		/* these reference it in turn */
	bool		has_definition; /* the archive creates the table */
	char	   *stranger;		/* a role that is not trusted, and owns the
								 * table, one above it or its schema; NULL =
								 * none.  A query, which COPY of a whole table
								 * is not, may run what that role wrote */
	char	   *name;			/* qualified and quoted */
	char	   *copy_name;		/* the same of the table to load: itself, or
								 * the root of its partition tree */
	char	  **columns;		/* as pg_dump quotes them, in its order */
	int			n_columns;		/* 0 if there is none to copy */
	char	   *condition;		/* WHERE clause of an extension's
								 * configuration table, or NULL */
	char	   *filter;			/* what rows to be dumped must meet, to follow
								 * WHERE or AND; NULL if all are dumped */
	char	   *where;			/* as the user gave it, or NULL */
	char	   *sample;			/* percentage as the user gave it, or NULL */
	ColumnMask *masks;			/* by column; NULL if none is masked */
	char	   *mask_hash;		/* of which, and how: hexadecimal, or NULL */
	uint64		heap_bytes;		/* main fork */
	uint64		total_bytes;	/* with TOAST */
	BlockNumber heap_blocks;
	double		est_rows;		/* as the server or the manifest has them; 0 =
								 * unknown */
} DumpTable;

typedef struct DumpTables
{
	DumpTable  *tables;			/* in the archive's order */
	int			n_tables;
	int			server_version; /* as PQserverVersion() has it */
	int			block_bytes;	/* the server's block size */
	int			locks_per_session;	/* 0 in tasks */
} DumpTables;

/*
 * The tables that have a TABLE DATA entry, and what that says about them.
 * The TOC must not move while the result is in use.
 */
extern DumpTables *dump_tables_of_toc(const Toc *toc);

/*
 * By table: of how many builds of its indexes, as the TOC has them, each must
 * wait for the one before it.  A constraint locks the table against all else,
 * but indexes are built side by side.  Owned.
 */
extern int *dump_tables_count_builds(const DumpTables *tables, const Toc *toc);

/*
 * What stands behind SELECT to read a table's rows: its columns, or their
 * masks.  Owned.
 */
extern char *dump_table_select_list(const DumpTable *table);

/* How many columns are masked, of a table, and of all. */
extern int	dump_table_count_masks(const DumpTable *table);
extern int	dump_tables_count_masks(const DumpTables *tables);

/* An array literal of their OIDs: '{1,2}'; owned. */
extern char *dump_tables_oids(const DumpTables *tables);

/* ----------
 * What the server knows of the tables to be dumped.
 * ----------
 */

/*
 * Describe the tables of the table of contents, which must not move while
 * the result is in use, lock them in the leader's session (waiting as
 * table_lock_take() does), make sure that what is locked is what pg_dump
 * described, and measure them.
 */
extern DumpTables *dump_tables_read(PGconn *conn, const Toc *toc,
									const Options *options, int lock_wait_ms);

/*
 * A query for their sizes, and for whether each name still leads to its table
 * (owned); and the name of the first one that leads to another table by now,
 * of its result, borrowed, or NULL.  What was read by name, and not by the
 * extension, may be of that: locks on tables do not keep their schemas from
 * being renamed.
 */
extern char *dump_tables_query(PGconn *conn, const DumpTables *tables);
extern const char *dump_tables_replaced(const PGresult *res,
										const DumpTables *tables);

/* Lock them in another session, too. */
extern void dump_tables_lock(PGconn *conn, const DumpTables *tables,
							 int wait_ms);

/*
 * Their names, or their copy_names, as an array literal in the session's
 * client encoding; owned.
 */
extern char *dump_tables_name_array(PGconn *conn, const DumpTables *tables,
									bool copy_names);

#endif							/* DUMP_TABLE_H */
