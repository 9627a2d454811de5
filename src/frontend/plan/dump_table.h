/*
 * dump_table.h
 *		The tables whose rows are dumped, with their properties on the server.
 *
 * dump_plan.c and the workers use them; tasks read them from the plan's file.
 */
#ifndef DUMP_TABLE_H
#define DUMP_TABLE_H

#include "libpq-fe.h"

#include "archive/toc.h"
#include "options/options.h"

/* ----------
 * The roles whose functions may run in our sessions (doc/security.md).
 * ----------
 */

/*
 * Superusers and the role that connected, for use after WITH.  The role of
 * --role is not enough, because a function can return to the role that
 * connected.
 */
#define TRUSTED_SQL \
"trusted (oid) AS (SELECT r.oid FROM pg_catalog.pg_roles r" \
" WHERE r.rolsuper OR r.rolname OPERATOR(pg_catalog.=) session_user)"

/* The mask of a column (--mask). */
typedef struct ColumnMask
{
	char	   *expression;		/* the user's text; NULL = the column is not
								 * masked */
	char	   *sql;			/* the same, converted to the column's type */
	int			attnum;			/* number of the column in its table */
} ColumnMask;

typedef struct DumpTable
{
	const TocEntry *entry;		/* its TABLE DATA entry; borrowed */
	Oid			oid;
	Oid			filenode;		/* of its files when locked; 0 = none */
	Oid			tablespace;		/* where the files are */
	bool		is_logged;		/* changes of the files are logged */
	char		relkind;
	bool		is_heap;		/* stored by the heap access method */
	bool		row_security;	/* policies apply to the current user */
	bool		columns_granted;	/* the role may read columns, not the
									 * table */
	char	   *root_schema;	/* of the topmost partitioned table above it;
								 * NULL if it is not a partition */
	char	   *root_table;
	bool		references_itself;	/* through a foreign key, or one of the
									 * partitioned table above it */
	int		   *referenced;		/* for a table of an extension, whose keys
								 * exist before rows are loaded: the numbers
								 * of the other tables that they reference */
	int			n_referenced;
	bool		in_cycle;		/* these also reference it */
	bool		has_definition; /* the archive creates the table */
	char	   *stranger;		/* an untrusted role that owns the table, one
								 * above it or its schema; NULL = none.  A
								 * query of the table may run code of that
								 * role; COPY of the whole table does not */
	char	   *name;			/* qualified and quoted */
	char	   *copy_name;		/* the same for the table to load: itself, or
								 * the root of its partition tree */
	char	  **columns;		/* quoted and ordered as by pg_dump */
	int			n_columns;		/* 0 if there is none to copy */
	char	   *condition;		/* WHERE clause of an extension's
								 * configuration table, or NULL */
	char	   *filter;			/* condition that rows must meet, for use
								 * after WHERE or AND; NULL if all rows are
								 * dumped */
	char	   *where;			/* the user's text, or NULL */
	char	   *sample;			/* the user's percentage, or NULL */
	ColumnMask *masks;			/* by column; NULL if none is masked */
	char	   *mask_hash;		/* hash of all masks, hexadecimal, or NULL */
	uint64		heap_bytes;		/* main fork */
	uint64		total_bytes;	/* with TOAST */
	BlockNumber heap_blocks;
	double		est_rows;		/* from the server or the manifest; 0 =
								 * unknown */
} DumpTable;

typedef struct DumpTables
{
	DumpTable  *tables;			/* in the archive's order */
	int			n_tables;
	int			server_version; /* from PQserverVersion() */
	int			block_bytes;	/* the server's block size */
	int			locks_per_session;	/* 0 in tasks */
} DumpTables;

/*
 * The tables that have a TABLE DATA entry, with the properties that it
 * contains.  The TOC must not move while the result is in use.
 */
extern DumpTables *dump_tables_of_toc(const Toc *toc);

/*
 * By table: the number of index builds, as in the TOC, that must run one
 * after the other.  A constraint locks the table against everything else, but
 * indexes can be built concurrently.  Owned.
 */
extern int *dump_tables_count_builds(const DumpTables *tables, const Toc *toc);

/* The SELECT list for a table's rows: its columns, or their masks.  Owned. */
extern char *dump_table_select_list(const DumpTable *table);

/* The number of masked columns of a table, and of all tables. */
extern int	dump_table_count_masks(const DumpTable *table);
extern int	dump_tables_count_masks(const DumpTables *tables);

/* An array literal of all OIDs: '{1,2}'; owned. */
extern char *dump_tables_oids(const DumpTables *tables);

/* ----------
 * The tables on the server.
 * ----------
 */

/*
 * Describe the tables of the table of contents, which must not move while the
 * result is in use; lock them in the leader's session (waiting as
 * table_lock_take() does); check that the locked tables are those that
 * pg_dump described; and measure them.
 */
extern DumpTables *dump_tables_read(PGconn *conn, const Toc *toc,
									const Options *options, int lock_wait_ms);

/*
 * dump_tables_query() returns a query for the sizes, and for whether each
 * name still leads to its table (owned).  dump_tables_replaced() returns the
 * name of the first table in its result whose name leads to another table,
 * borrowed, or NULL.  Rows that were read by name, instead of by the
 * extension, may come from that table: locks on tables do not prevent their
 * schemas from being renamed.
 */
extern char *dump_tables_query(PGconn *conn, const DumpTables *tables);
extern const char *dump_tables_replaced(const PGresult *res,
										const DumpTables *tables);

/* Lock the tables in another session, too. */
extern void dump_tables_lock(PGconn *conn, const DumpTables *tables,
							 int wait_ms);

/*
 * The names of the tables, or their copy_names, as an array literal in the
 * session's client encoding; owned.
 */
extern char *dump_tables_name_array(PGconn *conn, const DumpTables *tables,
									bool copy_names);

#endif							/* DUMP_TABLE_H */
