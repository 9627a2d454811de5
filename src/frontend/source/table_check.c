/*
 * table_check.c
 *		Compares tables under the snapshot with what they are now.
 *
 * The same query is run in the dump's transaction and in a session that sees
 * all that is committed; the locks make sure that its answer stays true.
 */
#include "base/fe_compat.h"

#include "fe_utils/string_utils.h"

#include "base/message.h"
#include "plan/dump_table.h"
#include "source/table_check.h"

/*
 * Columns of definition_query; the parts of a definition are compared as
 * text.
 */
enum
{
	IS_LOCKED,					/* by the session, if it can be */
	N_COLUMNS,					/* dropped ones, too */
	FILENODE_THEN,				/* as in the session's snapshot */
	FILENODE_NOW,				/* not as in the session's snapshot */
	FIRST_PART,
	N_FIELDS = FIRST_PART + 3
};

/* How an error names each part. */
static const char *const part_differs[] = {
	"name, kind or access method is not that",
	"columns are not those",
	"row security is not that"
};

/*
 * One row a table, in the order of the array: its files, and of its
 * definition what decides which values a query for its columns finds, and
 * which rows.
 *
 * Statements name columns, so one that was added behind those of the snapshot
 * ($2) does no harm.  Nor does a type modifier: what it changes in values is
 * in new files; output functions do not know it.  Row security may hide rows
 * where it is asked for; else the server says so, or it does not apply.  A
 * catalog that finds its files by the relation map has 0 in pg_class.
 *
 * Tables are locked by their names, and no lock keeps a schema from being
 * renamed: a name may have led to another table just then.
 */
static const char definition_query[] =
"SELECT c.relkind OPERATOR(pg_catalog.<>) 'r' OR t.oid OPERATOR(pg_catalog.=) ANY"
" (SELECT l.relation FROM pg_catalog.pg_locks l"
" WHERE l.pid OPERATOR(pg_catalog.=) pg_catalog.pg_backend_pid()"
" AND l.granted AND l.relation IS NOT NULL),"
" c.relnatts, NULLIF(c.relfilenode, 0), pg_catalog.pg_relation_filenode(t.oid),"
" pg_catalog.concat_ws(' ', c.relnamespace, pg_catalog.quote_ident(c.relname),"
" c.relkind, c.relam),"
" (SELECT pg_catalog.string_agg(pg_catalog.concat_ws(' ', a.attnum,"
" pg_catalog.quote_ident(a.attname), a.atttypid, a.attisdropped), ',' ORDER BY a.attnum)"
" FROM pg_catalog.pg_attribute a"
" WHERE a.attrelid OPERATOR(pg_catalog.=) t.oid"
" AND a.attnum OPERATOR(pg_catalog.>) 0"
" AND a.attnum OPERATOR(pg_catalog.<=) t.n_columns),"
" CASE WHEN c.relrowsecurity AND pg_catalog.current_setting('row_security') OPERATOR(pg_catalog.=) 'on'"
" THEN pg_catalog.concat_ws(' ', c.relforcerowsecurity, c.relowner,"
" (SELECT pg_catalog.string_agg(p::pg_catalog.text, ',' ORDER BY p.polname)"
" FROM pg_catalog.pg_policy p"
" WHERE p.polrelid OPERATOR(pg_catalog.=) t.oid)) END"
" FROM ROWS FROM (pg_catalog.unnest($1::pg_catalog.oid[]),"
" pg_catalog.unnest($2::pg_catalog.int4[])) WITH ORDINALITY t (oid, n_columns, no)"
" LEFT JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) t.oid"
" ORDER BY t.no";

/*
 * How many columns of each table count: all in the snapshot, and later those
 * that it has.  A COPY that names no columns takes all there are.
 */
static char *
column_counts(const DumpTables *tables, const PGresult *snapshot)
{
	PQExpBufferData buf;

	initPQExpBuffer(&buf);
	appendPQExpBufferChar(&buf, '{');
	for (int i = 0; i < tables->n_tables; i++)
		appendPQExpBuffer(&buf, "%s%d", i > 0 ? "," : "",
						  snapshot && tables->tables[i].n_columns > 0
						  ? atoi(PQgetvalue(snapshot, i, N_COLUMNS)) : PG_INT16_MAX);
	appendPQExpBufferChar(&buf, '}');
	return buf.data;
}

/* snapshot is the result of the session that has that, or NULL for itself. */
static PGresult *
definitions(PGconn *conn, const DumpTables *tables, const PGresult *snapshot)
{
	char	   *oids = dump_tables_oids(tables);
	char	   *counts = column_counts(tables, snapshot);
	const char *params[] = {oids, counts};
	PGresult   *res = session_query_params(conn, definition_query, 2, params, 0);

	if (PQntuples(res) != tables->n_tables || PQnfields(res) != N_FIELDS)
		pg_fatal("the server describes %d tables where %d were expected",
				 PQntuples(res), tables->n_tables);
	free(counts);
	free(oids);
	return res;
}

/* What part of the definition is another one now; NULL if none is. */
static const char *
changed_part(const PGresult *before, const PGresult *now, int row)
{
	if (PQgetvalue(before, row, IS_LOCKED)[0] != 't')
		return part_differs[0];
	for (int i = FIRST_PART; i < N_FIELDS; i++)
		if (PQgetisnull(before, row, i) != PQgetisnull(now, row, i) ||
			strcmp(PQgetvalue(before, row, i), PQgetvalue(now, row, i)) != 0)
			return part_differs[i - FIRST_PART];
	return NULL;
}

static Oid
filenode(const PGresult *res, int row, int field)
{
	return (Oid) strtoul(PQgetvalue(res, row, field), NULL, 10);
}

/* ----------
 * At the start
 * ----------
 */
static bool
was_rewritten(const PGresult *before, const PGresult *now, int row,
			  const DumpTable *table)
{
	Oid			then = filenode(before, row, FILENODE_THEN);

	/* the table's is that of the first server; this may be another standby */
	return !PQgetisnull(before, row, FILENODE_THEN) &&
		(then != table->filenode || then != filenode(now, row, FILENODE_NOW));
}

/* All of them are named; true if the run may go on. */
static bool
accept_rewritten(const PGresult *before, const PGresult *now,
				 const DumpTables *tables, const Options *options)
{
	enum pg_log_level level = options->allow_rewritten ? PG_LOG_WARNING : PG_LOG_ERROR;
	bool		any = false;

	for (int i = 0; i < tables->n_tables; i++)
	{
		if (!was_rewritten(before, now, i, &tables->tables[i]))
			continue;
		pg_log_generic(level, PG_LOG_PRIMARY, "table %s was rewritten after the snapshot was taken",
					   printable(tables->tables[i].name));
		any = true;
	}
	if (!any)
		return true;
	pg_log_generic(level, PG_LOG_DETAIL, "Rows of before are lost to the snapshot if that was by TRUNCATE, ALTER TABLE or REPACK (CONCURRENTLY); VACUUM FULL, CLUSTER and another REPACK keep them, but look the same.");
	if (!options->allow_rewritten)
		pg_log_error_hint(options->snapshot
						  ? "Run the dump again with a new snapshot, or with --allow-rewritten if you know that nothing is lost."
						  : "Run the dump again, or with --allow-rewritten if you know that nothing is lost.");
	return options->allow_rewritten;
}

void
table_check_snapshot(PGconn *conn, PGconn *other, const DumpTables *tables,
					 const Options *options)
{
	PGresult   *before = definitions(conn, tables, NULL);
	PGresult   *now = definitions(other, tables, before);

	for (int i = 0; i < tables->n_tables; i++)
	{
		const char *part = changed_part(before, now, i);

		if (part == NULL)
			continue;
		pg_log_error("table %s was changed after the snapshot was taken",
					 printable(tables->tables[i].name));
		pg_log_error_detail("Its %s of the snapshot, which the archive describes.",
							part);
		pg_log_error_hint(options->snapshot ? "Run the dump again with a new snapshot."
						  : "Run the dump again.");
		exit(1);
	}
	if (!accept_rewritten(before, now, tables, options))
		exit(1);
	PQclear(before);
	PQclear(now);
}

/* ----------
 * Later
 * ----------
 */
void
table_check_unchanged(PGconn *conn, PGconn *other, const DumpTables *tables)
{
	PGresult   *before = definitions(conn, tables, NULL);
	PGresult   *now = definitions(other, tables, before);

	for (int i = 0; i < tables->n_tables; i++)
	{
		if (filenode(now, i, FILENODE_NOW) == tables->tables[i].filenode &&
			changed_part(before, now, i) == NULL)
			continue;
		pg_log_error("table %s was changed while the leader had no lock on it",
					 printable(tables->tables[i].name));
		pg_log_error_hint("Run the dump again.");
		exit(1);
	}
	PQclear(before);
	PQclear(now);
}

void
table_check_names(const PGresult *res, const DumpTables *tables)
{
	const char *name = dump_tables_replaced(res, tables);

	if (name == NULL)
		return;
	pg_log_error("table %s was replaced by another of its name during the run",
				 printable(name));
	pg_log_error_hint("Run the dump again, and rename schemas before or after it.");
	exit(1);
}
