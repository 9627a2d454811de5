/*
 * target_ask.h
 *		Queries a target about objects by their names, and about tables.
 */
#ifndef TARGET_ASK_H
#define TARGET_ASK_H

#include "libpq-fe.h"

/*
 * Questions about objects of a kind, by name: which ones are missing on the
 * target (ASK_NO and ASK_NAME)?  Extensions and schemas belong to the
 * session's database; the files are those that CREATE EXTENSION reads.
 */
#define TARGET_ROLE "role"
#define TARGET_SUPERUSER "superuser"
#define TARGET_TABLESPACE "tablespace"
#define TARGET_SCHEMA "schema"
#define TARGET_EXTENSION "created extension"
#define TARGET_EXTENSION_FILES "extension files"
#define TARGET_ANY_EXTENSION "extension"

/*
 * A question about tables by their names, qualified and quoted: the OID of
 * each, or NULL (ASK_NO and ASK_NUMBER).
 */
#define TARGET_OIDS "OIDs"

/*
 * The tables that have blocks, or partitions with blocks; and those that pass
 * rows on, so that their number of rows is unknown: foreign tables, or
 * partitions, and views with a trigger (ASK_IS).  No rows are read, because
 * that might run functions of other roles.
 */
#define TARGET_FILLED "filled tables"

/*
 * The relations to ANALYZE for these tables, largest first (ASK_NAME); the
 * second question is for servers with ANALYZE ONLY.
 */
#define TARGET_ANALYZE "relations to analyze"
#define TARGET_ANALYZE_ONLY "relations to analyze only"

/*
 * Questions about tables by their OIDs.
 *
 * The tables whose rows can go to unlogged relations (ASK_NO).  How many of
 * these relations have blocks (ASK_NUMBER)?  Can the rows go only there
 * (ASK_IS), and would they fire triggers (ASK_ALSO)?
 */
#define TARGET_UNLOGGED "unlogged tables"

/*
 * Foreign keys between the tables: the referencing (ASK_NO) and the
 * referenced one (ASK_NUMBER).  Partitions also have the keys of their
 * partitioned tables.
 */
#define TARGET_KEYS "foreign keys"

/*
 * A question about a schema of ours, a view in it, and tables in it, in this
 * order: may the role create a schema (ASK_NO is 1), the schema's OID or NULL
 * (ASK_NUMBER), does the role own it and everything in it (ASK_IS), and do
 * all of them exist (ASK_ALSO)?  There is no row if the role was dropped.
 */
#define TARGET_OWN_SCHEMA "own schema"

/* Columns of the result.  Numbers of names and OIDs begin at 1. */
enum
{
	ASK_NO,
	ASK_NUMBER,
	ASK_IS,
	ASK_ALSO,
	ASK_NAME
};

/*
 * Ask one of these questions about names, an array literal from text_array(),
 * or about OIDs, from oid_array(); the other argument is NULL.  The rows are
 * sorted by ASK_NO.
 */
extern PGresult *target_ask(PGconn *conn, const char *question, const char *names,
							const char *oids);

/* The relations to which rows of tables can go, with the tables' numbers. */
#define TARGET_REACHED_SQL(oids) \
"(SELECT t.no, p.oid FROM pg_catalog.unnest(" oids ")" \
" WITH ORDINALITY t (oid, no)," \
" LATERAL (SELECT t.oid UNION SELECT i.relid" \
" FROM pg_catalog.pg_partition_tree(t.oid::pg_catalog.regclass) i) p (oid)) r"

/*
 * Is g, a row of pg_trigger, a user's trigger that an INSERT fires
 * (pg_trigger.h)?
 */
#define INSERT_TRIGGER_SQL \
	"NOT g.tgisinternal" \
	" AND (g.tgtype OPERATOR(pg_catalog.&) 4::pg_catalog.int2) OPERATOR(pg_catalog.<>) 0"

#endif							/* TARGET_ASK_H */
