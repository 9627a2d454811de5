/*
 * target_ask.h
 *		Asks a target about objects by their names, and about tables.
 */
#ifndef TARGET_ASK_H
#define TARGET_ASK_H

#include "libpq-fe.h"

/*
 * Questions about objects of a kind, by their names: which ones does the
 * target not have (ASK_NO and ASK_NAME)?  An extension, or a schema, is one
 * of the database that the session is in; the files are those that CREATE
 * EXTENSION reads.
 */
#define TARGET_ROLE "role"
#define TARGET_SUPERUSER "superuser"
#define TARGET_TABLESPACE "tablespace"
#define TARGET_SCHEMA "schema"
#define TARGET_EXTENSION "created extension"
#define TARGET_EXTENSION_FILES "extension files"
#define TARGET_ANY_EXTENSION "extension"

/*
 * Questions about tables by their names, qualified and quoted.
 *
 * The OID of each, or NULL (ASK_NO and ASK_NUMBER).
 */
#define TARGET_OIDS "OIDs"

/*
 * The tables that have blocks, or partitions that have; and those that hand
 * rows on, whose number of rows is unknown: foreign tables, or partitions,
 * and views with a trigger (ASK_IS).  No rows are read, as that might run
 * functions of others.
 */
#define TARGET_FILLED "filled tables"

/*
 * What to ANALYZE for these tables, largest first (ASK_NAME); the second
 * where the server knows ANALYZE ONLY.
 */
#define TARGET_ANALYZE "relations to analyze"
#define TARGET_ANALYZE_ONLY "relations to analyze only"

/*
 * Questions about tables by their OIDs.
 *
 * Those whose rows can go to unlogged relations (ASK_NO).  Can they go only
 * there (ASK_IS), and would they set off triggers (ASK_ALSO)?
 */
#define TARGET_UNLOGGED "unlogged tables"

/*
 * Foreign keys between them: from which (ASK_NO) to which (ASK_NUMBER).
 * Partitions have those of the partitioned tables they are part of.
 */
#define TARGET_KEYS "foreign keys"

/*
 * A question about a schema of ours, a view in it, and tables in it, in this
 * order: may the role create a schema (ASK_NO is 1), the schema's OID or NULL
 * (ASK_NUMBER), does the role own it and all in it (ASK_IS), and are they all
 * there (ASK_ALSO)?  There is no row if the role was dropped.
 */
#define TARGET_OWN_SCHEMA "own schema"

/* Columns of an answer.  Numbers of names and OIDs begin at 1. */
enum
{
	ASK_NO,
	ASK_NUMBER,
	ASK_IS,
	ASK_ALSO,
	ASK_NAME
};

/*
 * Ask one of these questions about the names of an array literal
 * (text_array()), or OIDs (oid_array()); the other one is NULL.  The rows are
 * in the order of ASK_NO.
 */
extern PGresult *target_ask(PGconn *conn, const char *question, const char *names,
							const char *oids);

/* The relations that rows of tables can go to, by the tables' numbers. */
#define TARGET_REACHED_SQL(oids) \
"(SELECT t.no, p.oid FROM pg_catalog.unnest(" oids ")" \
" WITH ORDINALITY t (oid, no)," \
" LATERAL (SELECT t.oid UNION SELECT i.relid" \
" FROM pg_catalog.pg_partition_tree(t.oid::pg_catalog.regclass) i) p (oid)) r"

/* Is g of pg_trigger a user's that an INSERT sets off (pg_trigger.h)? */
#define INSERT_TRIGGER_SQL \
	"NOT g.tgisinternal" \
	" AND (g.tgtype OPERATOR(pg_catalog.&) 4::pg_catalog.int2) OPERATOR(pg_catalog.<>) 0"

#endif							/* TARGET_ASK_H */
