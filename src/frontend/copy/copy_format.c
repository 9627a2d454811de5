/*
 * copy_format.c
 *		Decides between COPY's two formats, table by table.
 *
 * A type's binary form must not depend on the cluster:
 *	base types of PostgreSQL itself, whose OIDs are below 10000
 *		(transam.h: FirstGenbkiObjectId) and the same in all clusters: yes,
 *		but for the few below;
 *	enums: yes, they are sent by label (enum_send);
 *	domains, ranges and multiranges: as what they are made of, the form has
 *		nothing else in it (domain_recv, range_send, multirange_send);
 *	arrays: it has the element type's OID (array_send), so only those of
 *		PostgreSQL's own types;
 *	composite types: the same of every column (record_send): no;
 *	types of extensions and users: who knows: no.
 * Of PostgreSQL's own types no: reg*, which are OIDs of other objects; money,
 * which is a number whose decimal point lc_monetary sets; xml, which is
 * re-encoded by its declaration; and those without a receive function that
 * does its work (pg_node_tree and such).
 */
#include "base/fe_compat.h"

#include "catalog/pg_class_d.h"

#include "base/identifier.h"
#include "base/printable.h"
#include "copy/copy_format.h"
#include "plan/dump_table_read.h"

/* Binary forms have been the same since; multiranges came with it. */
#define MIN_SERVER_FOR_BINARY 140000

/* For less, another file costs more than WAL. */
#define MIN_TRUNCATE_BYTES ((uint64) 1024 * 1024)

/*
 * One row a table, in the order of the array: the columns that COPY sends and
 * their types, and the first of them that is not safe.  "part" is a column's
 * type and, recursively, what that is made of: the name alone may mean
 * another type on the target.
 */
static const char types_query[] =
"WITH RECURSIVE wanted AS ("
"SELECT no, pg_catalog.to_regclass(name)::pg_catalog.oid AS rel"
" FROM pg_catalog.unnest($1::pg_catalog.text[]) WITH ORDINALITY t (name, no)"
"), columns AS ("
"SELECT w.no, a.attname, a.atttypid FROM wanted w"
" JOIN pg_catalog.pg_attribute a ON a.attrelid OPERATOR(pg_catalog.=) w.rel"
" WHERE a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped"
" AND a.attgenerated OPERATOR(pg_catalog.=) ''"
"), part (whole, type, in_array) AS ("
"SELECT DISTINCT atttypid, atttypid, false FROM columns"
" UNION "
"SELECT p.whole, CASE t.typtype WHEN 'd' THEN t.typbasetype"
" WHEN 'r' THEN (SELECT r.rngsubtype FROM pg_catalog.pg_range r"
" WHERE r.rngtypid OPERATOR(pg_catalog.=) t.oid)"
" WHEN 'm' THEN (SELECT r.rngsubtype FROM pg_catalog.pg_range r"
" WHERE r.rngmultitypid OPERATOR(pg_catalog.=) t.oid)"
" ELSE t.typelem END, p.in_array OR t.typtype OPERATOR(pg_catalog.=) 'b'"
" FROM part p JOIN pg_catalog.pg_type t ON t.oid OPERATOR(pg_catalog.=) p.type"
" WHERE t.typtype OPERATOR(pg_catalog.=) ANY ('{d,r,m}')"
" OR t.typoutput OPERATOR(pg_catalog.=) 'pg_catalog.array_out'::pg_catalog.regproc"
"), described AS ("
"SELECT whole, pg_catalog.string_agg(pg_catalog.format_type(type, NULL), ' '"
" ORDER BY pg_catalog.format_type(type, NULL) COLLATE pg_catalog.\"C\") AS parts"
" FROM part GROUP BY whole"
"), unsafe AS ("
"SELECT DISTINCT p.whole FROM part p"
" LEFT JOIN pg_catalog.pg_type t ON t.oid OPERATOR(pg_catalog.=) p.type"
" WHERE NOT CASE"
" WHEN t.oid IS NULL THEN false"
" WHEN p.in_array AND t.oid OPERATOR(pg_catalog.>=) 10000::pg_catalog.oid THEN false"
" WHEN t.typsend OPERATOR(pg_catalog.=) 0::pg_catalog.oid"
" OR t.typreceive OPERATOR(pg_catalog.=) 0::pg_catalog.oid THEN false"
" WHEN t.typtype OPERATOR(pg_catalog.=) ANY ('{d,e,r,m}') THEN true"
" WHEN t.typtype OPERATOR(pg_catalog.<>) 'b' THEN false"
" WHEN t.typoutput OPERATOR(pg_catalog.=) 'pg_catalog.array_out'::pg_catalog.regproc THEN true"
" ELSE t.oid OPERATOR(pg_catalog.<) 10000::pg_catalog.oid"
" AND t.typname::pg_catalog.text OPERATOR(pg_catalog.!~) '^reg'"
" AND t.typname OPERATOR(pg_catalog.<>) ALL ('{money,xml,aclitem,"
"pg_node_tree,pg_ndistinct,pg_dependencies,pg_mcv_list,"
"pg_brin_bloom_summary,pg_brin_minmax_multi_summary}')"
" END"
")"
" SELECT w.rel IS NOT NULL,"
" pg_catalog.string_agg(pg_catalog.format('%I %s %s', c.attname,"
" pg_catalog.format_type(c.atttypid, NULL), d.parts), ', ' ORDER BY c.attname)"
" FILTER (WHERE c.no IS NOT NULL),"
" pg_catalog.min(pg_catalog.format('column %I is of type %s', c.attname,"
" pg_catalog.format_type(c.atttypid, NULL))) FILTER (WHERE u.whole IS NOT NULL)"
" FROM wanted w LEFT JOIN columns c ON c.no OPERATOR(pg_catalog.=) w.no"
" LEFT JOIN described d ON d.whole OPERATOR(pg_catalog.=) c.atttypid"
" LEFT JOIN unsafe u ON u.whole OPERATOR(pg_catalog.=) c.atttypid"
" GROUP BY w.no, w.rel ORDER BY w.no";

static PGresult *
ask(PGconn *conn, const DumpTables *tables, bool is_target)
{
	char	   *names = dump_tables_name_array(conn, tables, is_target);
	const char *params[] = {names};
	PGresult   *res = session_query_params(conn, types_query, 1, params, 0);

	if (PQntuples(res) != tables->n_tables)
		pg_fatal("the server describes %d tables where %d were expected",
				 PQntuples(res), tables->n_tables);
	free(names);
	return res;
}

/* Why one table is copied as text, or NULL; owned. */
static char *
text_reason(const PGresult *in_source, const PGresult *in_target, int no)
{
	if (!PQgetisnull(in_source, no, 2))
		return pg_strdup(PQgetvalue(in_source, no, 2));
	if (strcmp(PQgetvalue(in_source, no, 1), PQgetvalue(in_target, no, 1)) != 0)
		return pg_strdup("its columns are not the same in source and target");
	return NULL;
}

/*
 * pg_dump's statement, which has two spaces where the list of columns is
 * missing, with a format if need be; owned.
 */
static char *
target_statement(const DumpTable *table, bool binary, bool freeze)
{
	const char *options = binary && freeze ? " (FORMAT binary, FREEZE)"
		: binary ? " (FORMAT binary)" : freeze ? " (FREEZE)" : "";
	char	   *columns = identifier_join(table->columns, table->n_columns);
	char	   *result;

	if (table->n_columns > 0)
		result = psprintf("COPY %s (%s) FROM STDIN%s", table->copy_name, columns,
						  options);
	else
		result = psprintf("COPY %s  FROM STDIN%s", table->copy_name, options);
	free(columns);
	return result;
}

/* Rows for a table that is not there would be refused only after others. */
static void
check_existence(const PGresult *in_target, const DumpTables *tables)
{
	for (int i = 0; i < tables->n_tables; i++)
		if (PQgetvalue(in_target, i, 0)[0] != 't')
			pg_fatal("the target has no table %s",
					 printable(tables->tables[i].copy_name));
}

static bool
has_minimal_wal(PGconn *conn)
{
	PGresult   *res = session_query(conn,
									"SELECT pg_catalog.current_setting('wal_level')");
	bool		result = strcmp(PQgetvalue(res, 0, 0), "minimal") == 0;

	PQclear(res);
	return result;
}

/*
 * With wal_level = minimal, rows that come in the transaction that truncated
 * their table are flushed instead of logged.  That is for tables that come in
 * one piece, and are this run's, so that nothing is lost by it.  They are
 * frozen at once, as hint bits would be logged later if there are checksums.
 */
static bool
may_truncate(const Options *options, const DumpTable *table, int n_chunks)
{
	return n_chunks == 1 && table->total_bytes >= MIN_TRUNCATE_BYTES &&
		table->has_definition && !options->data_only &&
		table->relkind == RELKIND_RELATION &&
		strcmp(table->name, table->copy_name) == 0;
}

CopyFormat *
copy_formats_decide(PGconn *source_conn, PGconn *target_conn,
					const Options *options, const DumpPlan *plan)
{
	const DumpTables *tables = plan->tables;
	CopyFormat *formats = pg_malloc0((tables->n_tables + 1) * sizeof(CopyFormat));
	bool		minimal_wal = has_minimal_wal(target_conn);
	bool		must_be_binary = options->copy_format &&
		strcmp(options->copy_format, "binary") == 0;
	const char *for_all = NULL;
	PGresult   *in_source = NULL;
	PGresult   *in_target = NULL;

	if (PQserverVersion(source_conn) < MIN_SERVER_FOR_BINARY ||
		PQserverVersion(target_conn) < MIN_SERVER_FOR_BINARY)
		for_all = "a server is older than 14";
	else
	{
		in_source = ask(source_conn, tables, false);
		in_target = ask(target_conn, tables, true);
		check_existence(in_target, tables);
	}
	if (options->copy_format && strcmp(options->copy_format, "text") == 0)
		for_all = "so asked for";

	for (int i = 0; i < tables->n_tables; i++)
	{
		const DumpTable *table = &tables->tables[i];
		CopyFormat *format = &formats[i];

		format->text_reason = for_all ? pg_strdup(for_all) :
			text_reason(in_source, in_target, i);
		format->truncate = minimal_wal &&
			may_truncate(options, table, plan->chunks->tables[i].n_files);
		format->statement = target_statement(table, format->text_reason == NULL,
											 format->truncate);
		if (must_be_binary && format->text_reason)
		{
			pg_log_error("table %s cannot be copied in binary format: %s",
						 printable(table->name), format->text_reason);
			pg_log_error_hint("--copy-format=auto copies such tables as text.");
			exit(1);
		}
	}
	PQclear(in_source);
	PQclear(in_target);
	return formats;
}
