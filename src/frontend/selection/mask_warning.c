/*
 * mask_warning.c
 *		Warns of what masks do not reach, and of what does not suit them.
 *
 * What a restore checks cannot be proven of an expression without a look at
 * all rows, and definitions are pg_dump's: so both are named, and left to
 * the user.
 */
#include "base/fe_compat.h"

#include "pqexpbuffer.h"

#include "base/message.h"
#include "selection/mask_warning.h"
#include "session/session.h"

/* Of each kind of finding, in one warning. */
#define FINDINGS_SHOWN 20

/* How the server names what is at fault, and what it is. */
enum
{
	RESULT_NO, RESULT_IS_DEFINITION, RESULT_WHAT, RESULT_NAME
};

/*
 * $1 has the tables, $2 the columns' numbers; what is of a partitioned table
 * above is of its partitions' columns, too.  A partition key's column has
 * an internal dependency on its table (heap.c:StorePartitionKey).  The FOR
 * VALUES of the partitions are definitions that show values of the key.
 */
static const char findings_query[] =
"WITH RECURSIVE masked (oid, attnum, no, attname) AS ("
"SELECT u.oid, u.attnum, u.no, a.attname FROM ROWS FROM ("
"pg_catalog.unnest($1::pg_catalog.oid[]), pg_catalog.unnest($2::pg_catalog.int2[]))"
" WITH ORDINALITY u (oid, attnum, no) JOIN pg_catalog.pg_attribute a"
" ON a.attrelid OPERATOR(pg_catalog.=) u.oid AND a.attnum OPERATOR(pg_catalog.=) u.attnum"
" UNION SELECT p.oid, b.attnum, m.no, m.attname FROM masked m"
" JOIN pg_catalog.pg_inherits i ON i.inhrelid OPERATOR(pg_catalog.=) m.oid"
" JOIN pg_catalog.pg_class p ON p.oid OPERATOR(pg_catalog.=) i.inhparent"
" AND p.relkind OPERATOR(pg_catalog.=) 'p'"
" JOIN pg_catalog.pg_attribute b ON b.attrelid OPERATOR(pg_catalog.=) p.oid"
" AND b.attname OPERATOR(pg_catalog.=) m.attname AND b.attnum OPERATOR(pg_catalog.>) 0),"
" con AS (SELECT m.no, k.contype, k.conname, k.conrelid OPERATOR(pg_catalog.=) m.oid"
" AND m.attnum OPERATOR(pg_catalog.=) ANY (k.conkey) AS own,"
" k.confrelid OPERATOR(pg_catalog.=) m.oid AND m.attnum OPERATOR(pg_catalog.=) ANY (k.confkey) AS other"
" FROM masked m JOIN pg_catalog.pg_constraint k ON k.conrelid OPERATOR(pg_catalog.=) m.oid"
" OR k.confrelid OPERATOR(pg_catalog.=) m.oid),"
" dep AS (SELECT m.no, m.oid, d.classid, d.objid FROM masked m JOIN pg_catalog.pg_depend d"
" ON d.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass"
" AND d.refobjid OPERATOR(pg_catalog.=) m.oid AND d.refobjsubid OPERATOR(pg_catalog.=) m.attnum),"
" key AS (SELECT m.no FROM masked m JOIN pg_catalog.pg_attribute a"
" ON a.attrelid OPERATOR(pg_catalog.=) m.oid AND a.attnum OPERATOR(pg_catalog.=) m.attnum"
" WHERE EXISTS (WITH RECURSIVE up (oid) AS (SELECT m.oid UNION"
" SELECT i.inhparent FROM pg_catalog.pg_inherits i JOIN up ON up.oid OPERATOR(pg_catalog.=) i.inhrelid)"
" SELECT FROM up JOIN pg_catalog.pg_partitioned_table p ON p.partrelid OPERATOR(pg_catalog.=) up.oid"
" JOIN pg_catalog.pg_attribute b ON b.attrelid OPERATOR(pg_catalog.=) up.oid"
" AND b.attname OPERATOR(pg_catalog.=) a.attname AND b.attnum OPERATOR(pg_catalog.>) 0"
" WHERE b.attnum OPERATOR(pg_catalog.=) ANY (p.partattrs)"
" OR EXISTS (SELECT FROM pg_catalog.pg_depend d"
" WHERE d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass"
" AND d.objid OPERATOR(pg_catalog.=) up.oid AND d.objsubid OPERATOR(pg_catalog.=) b.attnum"
" AND d.refobjid OPERATOR(pg_catalog.=) up.oid AND d.refobjsubid OPERATOR(pg_catalog.=) 0"
" AND d.deptype OPERATOR(pg_catalog.=) 'i')))"
" SELECT DISTINCT f.no, f.is_definition, f.what, f.name FROM ("
"SELECT m.no, false, 'is NOT NULL', NULL::pg_catalog.text FROM masked m JOIN pg_catalog.pg_attribute a"
" ON a.attrelid OPERATOR(pg_catalog.=) m.oid AND a.attnum OPERATOR(pg_catalog.=) m.attnum WHERE a.attnotnull"
" UNION ALL SELECT m.no, false, 'is in unique index', x.relname FROM masked m"
" JOIN pg_catalog.pg_index i ON i.indrelid OPERATOR(pg_catalog.=) m.oid AND (i.indisunique OR i.indisexclusion)"
" JOIN pg_catalog.pg_class x ON x.oid OPERATOR(pg_catalog.=) i.indexrelid"
" WHERE m.attnum OPERATOR(pg_catalog.=) ANY (i.indkey) OR i.indexrelid IN"
" (SELECT d.objid FROM dep d WHERE d.no OPERATOR(pg_catalog.=) m.no"
" AND d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass)"
" UNION ALL SELECT no, false, 'is in foreign key', conname FROM con WHERE contype OPERATOR(pg_catalog.=) 'f' AND own"
" UNION ALL SELECT no, false, 'is referenced by foreign key', conname FROM con WHERE contype OPERATOR(pg_catalog.=) 'f' AND other"
" UNION ALL SELECT no, false, 'is in CHECK constraint', conname FROM con WHERE contype OPERATOR(pg_catalog.=) 'c' AND own"
" UNION ALL SELECT no, true, 'is in CHECK constraint', conname FROM con WHERE contype OPERATOR(pg_catalog.=) 'c' AND own"
" UNION ALL SELECT no, false, 'is in the partition key', NULL FROM key"
" UNION ALL SELECT no, true, 'is in the bounds of partitions', NULL FROM key"
" UNION ALL SELECT m.no, true, 'has a default', NULL FROM masked m JOIN pg_catalog.pg_attrdef f"
" ON f.adrelid OPERATOR(pg_catalog.=) m.oid AND f.adnum OPERATOR(pg_catalog.=) m.attnum"
" UNION ALL SELECT d.no, true, 'is in partial or expression index', x.relname FROM dep d"
" JOIN pg_catalog.pg_index i ON i.indexrelid OPERATOR(pg_catalog.=) d.objid"
" AND (i.indpred IS NOT NULL OR i.indexprs IS NOT NULL)"
" JOIN pg_catalog.pg_class x ON x.oid OPERATOR(pg_catalog.=) i.indexrelid"
" WHERE d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass"
" UNION ALL SELECT d.no, true, 'is in policy', p.polname FROM dep d JOIN pg_catalog.pg_policy p"
" ON p.oid OPERATOR(pg_catalog.=) d.objid"
" WHERE d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_policy'::pg_catalog.regclass"
" UNION ALL SELECT d.no, true, 'is in the condition of trigger', t.tgname FROM dep d"
" JOIN pg_catalog.pg_trigger t ON t.oid OPERATOR(pg_catalog.=) d.objid AND t.tgqual IS NOT NULL"
" WHERE d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_trigger'::pg_catalog.regclass"
" UNION ALL SELECT d.no, true, 'is in a rule or view', w.ev_class::pg_catalog.regclass::pg_catalog.text FROM dep d"
" JOIN pg_catalog.pg_rewrite w ON w.oid OPERATOR(pg_catalog.=) d.objid"
" WHERE d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_rewrite'::pg_catalog.regclass"
" UNION ALL SELECT d.no, true, 'is in', pg_catalog.pg_describe_object(d.classid, d.objid, 0) FROM dep d"
" WHERE d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_statistic_ext'::pg_catalog.regclass"
" OR d.classid OPERATOR(pg_catalog.=) pg_catalog.to_regclass('pg_catalog.pg_publication_rel')"
" UNION ALL SELECT d.no, true, 'is in the expression of column', b.attname FROM dep d"
" JOIN pg_catalog.pg_attrdef f ON f.oid OPERATOR(pg_catalog.=) d.objid"
" JOIN masked m ON m.no OPERATOR(pg_catalog.=) d.no AND m.oid OPERATOR(pg_catalog.=) d.oid"
" AND (f.adrelid OPERATOR(pg_catalog.<>) m.oid OR f.adnum OPERATOR(pg_catalog.<>) m.attnum)"
" JOIN pg_catalog.pg_attribute b ON b.attrelid OPERATOR(pg_catalog.=) f.adrelid"
" AND b.attnum OPERATOR(pg_catalog.=) f.adnum"
" WHERE d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_attrdef'::pg_catalog.regclass"
") f (no, is_definition, what, name) ORDER BY 1, 2, 3, 4";

/* A masked column, as the query numbers them, from 1. */
typedef struct MaskedColumn
{
	const DumpTable *table;
	const char *column;
} MaskedColumn;

/* The arrays that the query takes, and what their members are; owned. */
static MaskedColumn *
list_masks(const DumpTables *tables, char **oids, char **attnums)
{
	int			n_masks = dump_tables_count_masks(tables);
	MaskedColumn *result = pg_malloc((n_masks + 1) * sizeof(MaskedColumn));
	Oid		   *oid_list = pg_malloc((n_masks + 1) * sizeof(Oid));
	Oid		   *attnum_list = pg_malloc((n_masks + 1) * sizeof(Oid));
	int			n = 0;

	for (int i = 0; i < tables->n_tables; i++)
		for (int j = 0; tables->tables[i].masks && j < tables->tables[i].n_columns; j++)
		{
			const ColumnMask *mask = &tables->tables[i].masks[j];

			if (mask->sql == NULL)
				continue;
			result[n].table = &tables->tables[i];
			result[n].column = tables->tables[i].columns[j];
			oid_list[n] = tables->tables[i].oid;
			attnum_list[n++] = mask->attnum;
		}
	*oids = oid_array(oid_list, n);
	*attnums = oid_array(attnum_list, n);
	free(oid_list);
	free(attnum_list);
	return result;
}

/* What is found of one kind, a sentence each; the number of all. */
static int
collect(const PGresult *res, const MaskedColumn *masks, int n_masks,
		bool definitions, PQExpBuffer text)
{
	int			n = 0;

	for (int i = 0; i < PQntuples(res); i++)
	{
		const MaskedColumn *mask =
			&masks[session_number(res, i, RESULT_NO, 1, n_masks) - 1];

		if ((PQgetvalue(res, i, RESULT_IS_DEFINITION)[0] == 't') != definitions ||
			n++ >= FINDINGS_SHOWN)
			continue;
		appendPQExpBuffer(text, "%s%s", n > 1 ? "; " : "",
						  printable(mask->table->name));
		appendPQExpBuffer(text, ".%s %s", printable(mask->column),
						  PQgetvalue(res, i, RESULT_WHAT));
		if (!PQgetisnull(res, i, RESULT_NAME))
			appendPQExpBuffer(text, " \"%s\"",
							  printable(PQgetvalue(res, i, RESULT_NAME)));
	}
	if (n > FINDINGS_SHOWN)
		appendPQExpBuffer(text, "; and %d more", n - FINDINGS_SHOWN);
	return n;
}

static void
warn_of_columns(PGconn *conn, const DumpTables *tables)
{
	char	   *params[2];
	MaskedColumn *masks = list_masks(tables, &params[0], &params[1]);
	int			n_masks = dump_tables_count_masks(tables);
	PGresult   *res = session_query_params(conn, findings_query, 2,
										   (const char *const *) params, 0);
	PQExpBufferData text;

	initPQExpBuffer(&text);
	if (collect(res, masks, n_masks, false, &text) > 0)
	{
		pg_log_warning("what takes the place of masked values must suit what a restore checks");
		pg_log_warning_detail("%s.", text.data);
		pg_log_warning_hint("It fails where an expression gives NULL, a value twice, one that refers to no row, or one that belongs to another partition.");
	}
	resetPQExpBuffer(&text);
	if (collect(res, masks, n_masks, true, &text) > 0)
	{
		pg_log_warning("definitions are dumped as they are, with the values of masked columns that they may show");
		pg_log_warning_detail("%s.", text.data);
	}
	termPQExpBuffer(&text);
	PQclear(res);
	free(masks);
	free(params[0]);
	free(params[1]);
}

void
mask_warnings_give(PGconn *conn, const DumpTables *tables,
				   const LargeObjects *objects)
{
	if (dump_tables_count_masks(tables) == 0)
		return;
	warn_of_columns(conn, tables);
	if (objects->n_objects > 0)
	{
		pg_log_warning("large objects are not masked");
		pg_log_warning_hint("--no-large-objects leaves them out.");
	}
}
