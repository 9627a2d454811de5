/*
 * copy_facts.c
 *		Asks both servers what decides about the format of a table.
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
 * re-encoded by its declaration; int2vector and oidvector, which are not
 * received if they are empty; and those without a receive function that does
 * its work (pg_node_tree and such).
 */
#include "base/fe_compat.h"

#include "copy/copy_facts.h"
#include "session/session.h"

/*
 * One row a table, in the order of the array: the columns that COPY sends and
 * their types; the first of them that is not safe; all of the columns in
 * their order, those of money with the setting that says what a number of it
 * means; and whether the library does COPY FROM.  "part" is a column's type
 * and, recursively, what that is made of: the name alone may mean another
 * type on the target.
 */
static const char facts_query[] =
"WITH RECURSIVE wanted AS ("
"SELECT no, rel"
" FROM pg_catalog.unnest($1::pg_catalog.oid[]) WITH ORDINALITY t (rel, no)"
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
" AND t.typname OPERATOR(pg_catalog.<>) ALL ('{money,xml,aclitem,int2vector,oidvector,"
"pg_node_tree,pg_ndistinct,pg_dependencies,pg_mcv_list,"
"pg_brin_bloom_summary,pg_brin_minmax_multi_summary}')"
" END"
")"
" SELECT pg_catalog.string_agg(pg_catalog.format('%I %s %s', c.attname,"
" pg_catalog.format_type(c.atttypid, NULL), d.parts), ', ' ORDER BY c.attname)"
" FILTER (WHERE c.no IS NOT NULL),"
" pg_catalog.min(pg_catalog.format('column %I is of type %s', c.attname,"
" pg_catalog.format_type(c.atttypid, NULL))) FILTER (WHERE u.whole IS NOT NULL),"
" (SELECT pg_catalog.string_agg(pg_catalog.format('%I %s%s%s', a.attname,"
" pg_catalog.format_type(a.atttypid, a.atttypmod), a.attgenerated,"
" CASE WHEN a.atttypid OPERATOR(pg_catalog.=) ANY ('{790,791}')"
" THEN pg_catalog.current_setting('lc_monetary') END), ', ' ORDER BY a.attnum)"
" FROM pg_catalog.pg_attribute a WHERE a.attrelid OPERATOR(pg_catalog.=) w.rel"
" AND a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped),"
" EXISTS (SELECT FROM pg_catalog.pg_class r WHERE r.oid OPERATOR(pg_catalog.=) w.rel"
" AND r.relkind OPERATOR(pg_catalog.=) 'r' AND r.relam OPERATOR(pg_catalog.=) 2::pg_catalog.oid"
" AND NOT r.relrowsecurity AND NOT r.relhasrules"
" AND NOT EXISTS (SELECT FROM pg_catalog.pg_trigger t WHERE t.tgrelid OPERATOR(pg_catalog.=) r.oid)"
" AND NOT EXISTS (SELECT FROM pg_catalog.pg_attribute a WHERE a.attrelid OPERATOR(pg_catalog.=) r.oid"
" AND a.attgenerated OPERATOR(pg_catalog.<>) ''))"
" FROM wanted w LEFT JOIN columns c ON c.no OPERATOR(pg_catalog.=) w.no"
" LEFT JOIN described d ON d.whole OPERATOR(pg_catalog.=) c.atttypid"
" LEFT JOIN unsafe u ON u.whole OPERATOR(pg_catalog.=) c.atttypid"
" GROUP BY w.no, w.rel ORDER BY w.no";

/* A value of a result that lives as long; NULL for NULL. */
static const char *
text_value(const PGresult *res, int row, int column)
{
	return PQgetisnull(res, row, column) ? NULL : PQgetvalue(res, row, column);
}

CopyFacts *
copy_facts_read(PGconn *conn, const char *oids, int n)
{
	CopyFacts  *facts = pg_malloc0((n + 1) * sizeof(CopyFacts));
	const char *params[] = {oids};
	PGresult   *res = session_query_params(conn, facts_query, 1, params, 0);

	if (PQntuples(res) != n)
		pg_fatal("the server describes %d tables where %d were expected",
				 PQntuples(res), n);
	for (int i = 0; i < n; i++)
	{
		facts[i].columns = text_value(res, i, 0);
		facts[i].unsafe_column = text_value(res, i, 1);
		facts[i].layout = text_value(res, i, 2);
		facts[i].is_plain = PQgetvalue(res, i, 3)[0] == 't';
	}
	return facts;
}

static bool
are_same(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

bool
copy_facts_same_columns(const CopyFacts *a, const CopyFacts *b)
{
	return are_same(a->columns, b->columns);
}

bool
copy_facts_same_layout(const CopyFacts *a, const CopyFacts *b)
{
	return are_same(a->layout, b->layout) && are_same(a->columns, b->columns);
}
