/*
 * row_mask.c
 *		--mask: expressions that replace the values of columns.
 *
 * A mask is an expression over the table's columns.  In the query that reads
 * the table or a chunk, the mask takes the place of the column.  So the
 * hidden value never leaves the server, and the rest of the program need not
 * know about masks.  Stock pg_dump, which writes the table of contents, reads
 * no rows.
 *
 * The mask must have a type that UPDATE could assign to the column.  The
 * server applies this rule to expressions in few statements that lock
 * nothing.  Of these only the DEFAULT of a column of XMLTABLE takes any type
 * and sees the row (parse_clause.c:transformRangeTableFunc).  Such a
 * statement is parsed, but never run.  A second statement has the expression
 * in WHERE, where aggregates, window functions and set-returning functions
 * are errors.
 */
#include "base/fe_compat.h"

#include "catalog/pg_class_d.h"
#include "catalog/pg_type_d.h"

#include "base/checksum.h"
#include "base/identifier.h"
#include "source/row_filter.h"
#include "source/row_mask.h"

/* ----------
 * Warnings about values that masks do not hide, and constraints that masked
 * values may violate.
 *
 * Whether all masked values meet the constraints is only known after all rows
 * were read; and pg_dump writes the definitions.  So both are only reported,
 * and the user decides.
 * ----------
 */

/* The number of findings that one warning shows. */
#define FINDINGS_SHOWN 20

/*
 * Columns of findings_query: the number of the mask, the index in
 * finding_texts, and the name of the object, or NULL.
 */
enum
{
	RESULT_NO, RESULT_KIND, RESULT_NAME
};

/* Findings of the first kinds are constraints, the others definitions. */
#define FIRST_DEFINITION 6

static const char *const finding_texts[] = {
	"Column %s.%s is NOT NULL.",
	"Column %s.%s is in unique index \"%s\".",
	"Column %s.%s is in foreign key \"%s\".",
	"Column %s.%s is referenced by foreign key \"%s\".",
	"Column %s.%s is in CHECK constraint \"%s\".",
	"Column %s.%s is in the partition key.",
	"Column %s.%s is in CHECK constraint \"%s\".",
	"Column %s.%s is in the bounds of partitions.",
	"Column %s.%s has a default.",
	"Column %s.%s is in partial or expression index \"%s\".",
	"Column %s.%s is in policy \"%s\".",
	"Column %s.%s is in the condition of trigger \"%s\".",
	"Column %s.%s is in a rule of table or view \"%s\".",
	"Column %s.%s is in %s.",
	"Column %s.%s is in the expression of column \"%s\"."
};

/*
 * Parameter $1 contains the tables, $2 the column numbers.  An object of a
 * partitioned table also belongs to the columns of its partitions.  A column
 * of a partition key has an internal dependency on its table
 * (heap.c:StorePartitionKey).  The FOR VALUES clauses of partitions are
 * definitions that contain values of the key.
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
" SELECT DISTINCT f.no, f.kind, f.name FROM ("
"SELECT m.no, 0, NULL::pg_catalog.text FROM masked m JOIN pg_catalog.pg_attribute a"
" ON a.attrelid OPERATOR(pg_catalog.=) m.oid AND a.attnum OPERATOR(pg_catalog.=) m.attnum WHERE a.attnotnull"
" UNION ALL SELECT m.no, 1, x.relname FROM masked m"
" JOIN pg_catalog.pg_index i ON i.indrelid OPERATOR(pg_catalog.=) m.oid AND (i.indisunique OR i.indisexclusion)"
" JOIN pg_catalog.pg_class x ON x.oid OPERATOR(pg_catalog.=) i.indexrelid"
" WHERE m.attnum OPERATOR(pg_catalog.=) ANY (i.indkey) OR i.indexrelid IN"
" (SELECT d.objid FROM dep d WHERE d.no OPERATOR(pg_catalog.=) m.no"
" AND d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass)"
" UNION ALL SELECT no, 2, conname FROM con WHERE contype OPERATOR(pg_catalog.=) 'f' AND own"
" UNION ALL SELECT no, 3, conname FROM con WHERE contype OPERATOR(pg_catalog.=) 'f' AND other"
" UNION ALL SELECT no, 4, conname FROM con WHERE contype OPERATOR(pg_catalog.=) 'c' AND own"
" UNION ALL SELECT no, 5, NULL FROM key"
" UNION ALL SELECT no, 6, conname FROM con WHERE contype OPERATOR(pg_catalog.=) 'c' AND own"
" UNION ALL SELECT no, 7, NULL FROM key"
" UNION ALL SELECT m.no, 8, NULL FROM masked m JOIN pg_catalog.pg_attrdef f"
" ON f.adrelid OPERATOR(pg_catalog.=) m.oid AND f.adnum OPERATOR(pg_catalog.=) m.attnum"
" UNION ALL SELECT d.no, 9, x.relname FROM dep d"
" JOIN pg_catalog.pg_index i ON i.indexrelid OPERATOR(pg_catalog.=) d.objid"
" AND (i.indpred IS NOT NULL OR i.indexprs IS NOT NULL)"
" JOIN pg_catalog.pg_class x ON x.oid OPERATOR(pg_catalog.=) i.indexrelid"
" WHERE d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass"
" UNION ALL SELECT d.no, 10, p.polname FROM dep d JOIN pg_catalog.pg_policy p"
" ON p.oid OPERATOR(pg_catalog.=) d.objid"
" WHERE d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_policy'::pg_catalog.regclass"
" UNION ALL SELECT d.no, 11, t.tgname FROM dep d"
" JOIN pg_catalog.pg_trigger t ON t.oid OPERATOR(pg_catalog.=) d.objid AND t.tgqual IS NOT NULL"
" WHERE d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_trigger'::pg_catalog.regclass"
" UNION ALL SELECT d.no, 12, w.ev_class::pg_catalog.regclass::pg_catalog.text FROM dep d"
" JOIN pg_catalog.pg_rewrite w ON w.oid OPERATOR(pg_catalog.=) d.objid"
" WHERE d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_rewrite'::pg_catalog.regclass"
" UNION ALL SELECT d.no, 13, pg_catalog.pg_describe_object(d.classid, d.objid, 0) FROM dep d"
" WHERE d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_statistic_ext'::pg_catalog.regclass"
" OR d.classid OPERATOR(pg_catalog.=) pg_catalog.to_regclass('pg_catalog.pg_publication_rel')"
" UNION ALL SELECT d.no, 14, b.attname FROM dep d"
" JOIN pg_catalog.pg_attrdef f ON f.oid OPERATOR(pg_catalog.=) d.objid"
" JOIN masked m ON m.no OPERATOR(pg_catalog.=) d.no AND m.oid OPERATOR(pg_catalog.=) d.oid"
" AND (f.adrelid OPERATOR(pg_catalog.<>) m.oid OR f.adnum OPERATOR(pg_catalog.<>) m.attnum)"
" JOIN pg_catalog.pg_attribute b ON b.attrelid OPERATOR(pg_catalog.=) f.adrelid"
" AND b.attnum OPERATOR(pg_catalog.=) f.adnum"
" WHERE d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_attrdef'::pg_catalog.regclass"
") f (no, kind, name) ORDER BY 1, 2, 3";

/* A masked column.  The query numbers masked columns from 1. */
typedef struct MaskedColumn
{
	const DumpTable *table;
	const char *column;
} MaskedColumn;

/*
 * Make the array parameters of the query, and the list of the masked columns
 * in the same order; owned.
 */
static MaskedColumn *
list_masks(const DumpTables *tables, const char **oids, const char **attnums)
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
	return result;
}

/*
 * Warn of the findings that are definitions, or of the others.  Returns
 * whether there are any.
 */
static bool
warn_of_findings(const PGresult *res, const MaskedColumn *masks, int n_masks,
				 bool definitions, const char *warning)
{
	int			n = 0;

	for (int i = 0; i < PQntuples(res); i++)
	{
		const MaskedColumn *mask =
			&masks[session_number(res, i, RESULT_NO, 1, n_masks) - 1];
		int			kind = session_number(res, i, RESULT_KIND, 0,
										  lengthof(finding_texts) - 1);

		if ((kind >= FIRST_DEFINITION) != definitions)
			continue;
		if (n == 0)
			pg_log_warning("%s", warning);
		if (n++ < FINDINGS_SHOWN)
			pg_log_warning_detail(finding_texts[kind],
								  printable(mask->table->name),
								  printable(mask->column),
								  printable(PQgetvalue(res, i, RESULT_NAME)));
	}
	if (n > FINDINGS_SHOWN)
		pg_log_warning_detail("Further columns or objects: %d.",
							  n - FINDINGS_SHOWN);
	return n > 0;
}

static void
warn_of_columns(PGconn *conn, const DumpTables *tables)
{
	const char *params[2];
	MaskedColumn *masks = list_masks(tables, &params[0], &params[1]);
	int			n_masks = dump_tables_count_masks(tables);
	PGresult   *res = session_query_params(conn, findings_query, 2, params, 0);

	if (warn_of_findings(res, masks, n_masks, false,
						 "masked values might violate constraints of their tables"))
	{
		pg_log_warning_detail("The rows cannot be loaded if an expression returns NULL for a NOT NULL column, duplicate values for a unique column, a value without a referenced row, or a value of another partition.");
		pg_log_warning_hint("Use expressions whose values satisfy these constraints, and test whether the rows can be loaded.");
	}
	if (warn_of_findings(res, masks, n_masks, true,
						 "definitions are dumped unmasked, and might contain values of masked columns"))
		pg_log_warning_hint("Check these definitions before others get access to them.");
	PQclear(res);
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
		pg_log_warning_hint("Use --no-large-objects to exclude them.");
	}
}

/* ----------
 * --mask
 * ----------
 */

#define FORM "TABLE.COLUMN:EXPRESSION, for example \"customers.email:'user' || id\""

/*
 * The columns that the pattern matches.  It runs with the user's search path.
 */
static const char columns_query[] =
"SELECT m.oid, a.attname, a.attnum FROM matching m"
" JOIN pg_catalog.pg_attribute a ON a.attrelid OPERATOR(pg_catalog.=) m.oid"
" WHERE a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped";

/*
 * The type of a column, its base type with the modifier, and an untrusted
 * role that owns one of the types in it.  Such a role could have its
 * functions called for each value: from the constraints of a domain, or from
 * a cast to the type, which its owner can create.  This query runs with an
 * empty search path, because format_type() omits schemas that are in the
 * path.
 */
static const char type_query[] =
"WITH " TRUSTED_SQL
" SELECT pg_catalog.format_type(a.atttypid, a.atttypmod), b.oid, b.typmod,"
" (WITH RECURSIVE part (oid) AS (SELECT a.atttypid UNION"
" SELECT u.oid FROM part JOIN pg_catalog.pg_type t ON t.oid OPERATOR(pg_catalog.=) part.oid,"
" LATERAL (SELECT t.typbasetype UNION ALL SELECT t.typelem UNION ALL"
" SELECT f.atttypid FROM pg_catalog.pg_attribute f"
" WHERE f.attrelid OPERATOR(pg_catalog.=) t.typrelid AND f.attnum OPERATOR(pg_catalog.>) 0"
" UNION ALL SELECT r.rngsubtype FROM pg_catalog.pg_range r"
" WHERE r.rngtypid OPERATOR(pg_catalog.=) t.oid"
" OR r.rngmultitypid OPERATOR(pg_catalog.=) t.oid) u (oid))"
" SELECT pg_catalog.pg_get_userbyid(t.typowner) FROM part"
" JOIN pg_catalog.pg_type t ON t.oid OPERATOR(pg_catalog.=) part.oid"
" WHERE t.typowner NOT IN (SELECT w.oid FROM trusted w) LIMIT 1)"
" FROM pg_catalog.pg_attribute a,"
" LATERAL (WITH RECURSIVE down (oid, typmod, level) AS (SELECT a.atttypid, a.atttypmod, 0"
" UNION ALL SELECT t.typbasetype, t.typtypmod, down.level OPERATOR(pg_catalog.+) 1"
" FROM down JOIN pg_catalog.pg_type t ON t.oid OPERATOR(pg_catalog.=) down.oid"
" WHERE t.typtype OPERATOR(pg_catalog.=) 'd')"
" SELECT down.oid, down.typmod FROM down ORDER BY down.level DESC LIMIT 1) b"
" WHERE a.attrelid OPERATOR(pg_catalog.=) $1::pg_catalog.oid"
" AND a.attnum OPERATOR(pg_catalog.=) $2::pg_catalog.int2";

/* The result of type_query. */
typedef struct ColumnType
{
	char	   *name;			/* qualified, quoted, with its modifier */
	Oid			base;			/* the base type of a domain */
	int			typmod;			/* of the base type; -1 = none */
	char	   *stranger;		/* untrusted owner of a type; NULL = none */
} ColumnType;

/*
 * For these types a cast truncates a value that is too long, but an
 * assignment does not.  The functions that apply the length have the types'
 * names, and their last argument distinguishes the two cases.
 */
static const char *
strict_length_type(Oid type)
{
	switch (type)
	{
		case VARCHAROID:
			return "pg_catalog.\"varchar\"";
		case BPCHAROID:
			return "pg_catalog.\"bpchar\"";
		case BITOID:
			return "pg_catalog.\"bit\"";
		case VARBITOID:
			return "pg_catalog.\"varbit\"";
	}
	return NULL;
}

/* The expression, converted to the column's type; owned. */
static char *
typed_expression(const char *expression, const ColumnType *type)
{
	const char *strict = type->typmod >= 0 ? strict_length_type(type->base) : NULL;

	if (strict == NULL)
		return psprintf("CAST((%s\n) AS %s)", expression, type->name);
	/* The outer cast is for a domain over this base type. */
	return psprintf("CAST(%s(CAST((%s\n) AS %s), %d, false) AS %s)", strict,
					expression, strict, type->typmod, type->name);
}

static ColumnType
read_type(PGconn *conn, Oid table, int attnum)
{
	const char *params[] = {psprintf("%u", table), psprintf("%d", attnum)};
	PGresult   *res = session_query_params(conn, type_query, 2, params, 0);
	ColumnType	result;

	if (PQntuples(res) != 1)
		session_unexpected(psprintf("The number of columns is %d instead of 1.",
									PQntuples(res)));
	result.name = pg_strdup(PQgetvalue(res, 0, 0));
	result.base = result_oid(res, 0, 1);
	result.typmod = atoi(PQgetvalue(res, 0, 2));
	result.stranger = PQgetisnull(res, 0, 3) ? NULL
		: pg_strdup(PQgetvalue(res, 0, 3));
	return result;
}

static void
check_expression(PGconn *conn, const DumpTable *table, const char *column,
				 const char *type, const char *expression)
{
	const char *only = table->relkind == RELKIND_RELATION ? "ONLY " : "";
	char	   *problem = psprintf("invalid expression for column %s of table %s",
								   printable(column), printable(table->name));
	char	   *mismatch = psprintf("The type of the expression cannot be assigned to the column, whose type is %s.",
									printable(type));

	expression_check(conn, psprintf("SELECT FROM %s%s WHERE ARRAY[%s\n] IS NULL",
									only, table->name, expression), problem, NULL);
	expression_check(conn, psprintf("SELECT FROM %s%s, XMLTABLE('' PASSING NULL COLUMNS c %s PATH '' DEFAULT (%s\n)) x",
									only, table->name, type, expression), problem, mismatch);
}

static void
refuse_stranger(const DumpTable *table, const char *column,
				const ColumnType *type, const char *role)
{
	pg_log_error("masking column %s of table %s could run code of role \"%s\" with the privileges of \"%s\"",
				 printable(column), printable(table->name),
				 printable(type->stranger), printable(role));
	pg_log_error_detail("Role \"%s\" owns a type of the column, and can attach functions to its casts and constraints.",
						printable(type->stranger));
	pg_fatal_hint("If you trust this role, use --trust-owners.");
}

static void
mask_column(PGconn *conn, const Options *options, DumpTable *table,
			const TablePattern *pattern, int place, int attnum)
{
	const char *column = table->columns[place];
	ColumnMask *mask;
	ColumnType	type;

	table_pattern_check_condition(pattern, table);
	if (table->masks == NULL)
		table->masks = pg_malloc0(table->n_columns * sizeof(ColumnMask));
	mask = &table->masks[place];
	if (mask->expression)
	{
		pg_log_error("column %s of table %s matches more than one option %s",
					 printable(column), printable(table->name), pattern->option);
		pg_fatal_hint("Specify only one pattern that matches the column.");
	}

	/*
	 * The type is read with an empty search path, so that its name is
	 * qualified and means the same type in every session.
	 */
	type = read_type(conn, table->oid, attnum);
	if (type.stranger && !options->trust_owners)
		refuse_stranger(table, column, &type,
						options->role ? options->role : PQuser(conn));
	check_expression(conn, table, column, type.name, pattern->value);
	mask->attnum = attnum;
	mask->expression = pg_strdup(pattern->value);
	mask->sql = typed_expression(pattern->value, &type);
	pg_log_info("column %s of table %s is masked", printable(column),
				printable(table->name));
}

/* Add a hint if the table exists and only the column does not. */
static void
hint_at_column(PGconn *conn, const TablePattern *pattern)
{
	TablePattern table = *pattern;

	table.column = NULL;
	if (table_pattern_is_there(conn, &table) &&
		!table_pattern_is_there(conn, pattern))
		pg_log_error_detail("No table that matches \"%s\" has a column that matches \"%s\".",
							pattern->table, pattern->column);
}

static void
apply_argument(PGconn *conn, const Options *options, const char *arg,
			   DumpTables *tables)
{
	TablePattern pattern = table_pattern_split("--mask", FORM, arg, true);
	PGresult   *columns;
	int			n_matched = 0;
	bool		is_dumped = false;

	if (options->one_of_all && table_pattern_is_elsewhere(conn, &pattern))
		return;
	columns = table_pattern_query(conn, &pattern, true, columns_query);
	for (int i = 0; i < tables->n_tables; i++)
	{
		DumpTable  *table = &tables->tables[i];
		TableRows	rows = table_pattern_rows(columns, table->oid);

		/*
		 * The table is dumped and has the column, but the column may be
		 * generated.  Then it is an error that no column matches, even with
		 * --all-databases.
		 */
		is_dumped |= rows.n > 0;

		for (int row = rows.first; row < rows.first + rows.n; row++)
		{
			int			place = identifier_find(table->columns, table->n_columns,
												PQgetvalue(columns, row, 1));

			/*
			 * A generated column is not in the list, because it is not
			 * dumped.
			 */
			if (place < 0)
				continue;
			mask_column(conn, options, table, &pattern, place,
						atoi(PQgetvalue(columns, row, 2)));
			n_matched++;
		}
	}
	PQclear(columns);
	if (n_matched == 0 && (is_dumped || !options->one_of_all ||
						   !(table_pattern_was_missing(arg) ||
							 table_pattern_is_there(conn, &pattern))))
	{
		pg_log_error("pattern \"%s.%s\" of option %s matches no column that is dumped",
					 pattern.table, pattern.column, pattern.option);
		if (is_dumped)
		{
			pg_log_error_detail("The column is generated.");
			pg_log_error_hint("Mask the columns from which it is computed.");
		}
		else if (!table_pattern_hint(conn, &pattern))
			hint_at_column(conn, &pattern);
		exit(1);
	}
}

/*
 * A hash of all expressions of the table.  It shows whether two archives have
 * the same masks, without the expressions, which may contain secrets.  A zero
 * byte ends each text, so that two lists with the same hash are equal.
 */
static char *
hash_masks(const DumpTable *table)
{
	pg_checksum_context context;

	checksum_begin(&context, CHECKSUM_TYPE_SHA256);
	for (int i = 0; i < table->n_columns; i++)
	{
		const char *texts[] = {table->columns[i], table->masks[i].expression};

		for (int j = 0; texts[1] && j < 2; j++)
			checksum_add(&context, texts[j], strlen(texts[j]) + 1);
	}
	return checksum_end_hex(&context);
}

void
row_masks_apply(PGconn *conn, const Options *options, const Toc *toc,
				DumpTables *tables)
{
	for (const SimpleStringListCell *cell = options->mask.head; cell;
		 cell = cell->next)
		apply_argument(conn, options, cell->val, tables);
	if (options->mask.head == NULL)
		return;

	/*
	 * Statistics contain the most common values, also those of materialized
	 * views that are computed from the tables.
	 */
	for (int i = 0; i < toc->n_entries; i++)
	{
		if (strstr(toc->entries[i].desc, "STATISTICS DATA") == NULL)
			continue;
		pg_log_error("option %s cannot be used in a dump that contains statistics",
					 "--mask");
		pg_fatal_detail("Statistics contain unmasked values of columns.");
	}
	for (int i = 0; i < tables->n_tables; i++)
		if (tables->tables[i].masks)
			tables->tables[i].mask_hash = hash_masks(&tables->tables[i]);
}

bool
row_mask_is_there(PGconn *conn, const char *arg)
{
	TablePattern pattern = table_pattern_split("--mask", FORM, arg, true);

	return table_pattern_is_there(conn, &pattern);
}
