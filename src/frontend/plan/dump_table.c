/*
 * dump_table.c
 *		Finds the tables to be dumped in pg_dump's table of contents, reads
 *		their properties from the server, and locks them.
 */
#include "base/fe_compat.h"

#include "catalog/pg_class_d.h"
#include "fe_utils/string_utils.h"

#include "base/identifier.h"
#include "plan/dump_table.h"
#include "session/session.h"
#include "session/table_lock.h"

/* ----------
 * The tables of the table of contents.
 * ----------
 */

/*
 * Parse "COPY table (a, b) FROM stdin;".  There is no list of columns if the
 * table has none to copy (pg_dump.c:fmtCopyColumnList).
 */
static void
read_copy_statement(DumpTable *table)
{
	const char *name = table->entry->copy_stmt;
	const char *list;
	const char *end;

	if (name == NULL || strncmp(name, "COPY ", 5) != 0)
		toc_reject_pg_dump(psprintf("It contains no COPY command for table %s.",
									printable(table->name)));
	name += 5;
	end = identifier_skip(name, ' ');
	table->copy_name = pnstrdup(name, end - name);
	if (strncmp(end, " (", 2) != 0)
		return;
	list = end + 2;
	end = identifier_skip(list, ')');
	if (*end != ')')
		toc_reject_pg_dump(psprintf("The list of columns of table %s is incomplete.",
									printable(table->name)));
	table->columns = identifier_split(list, end - list, &table->n_columns);
}

DumpTables *
dump_tables_of_toc(const Toc *toc)
{
	DumpTables *result = pg_malloc0(sizeof(DumpTables));
	const TocEntry **by_id = toc_entries_by_id(toc);

	for (int i = 0; i < toc->n_entries; i++)
		if (toc_entry_is_table_data(&toc->entries[i]))
			result->n_tables++;
	result->tables = pg_malloc0((result->n_tables + 1) * sizeof(DumpTable));
	result->n_tables = 0;
	for (int i = 0; i < toc->n_entries; i++)
	{
		const TocEntry *entry = &toc->entries[i];
		DumpTable  *table = &result->tables[result->n_tables];

		if (!toc_entry_is_table_data(entry))
			continue;
		table->entry = entry;
		table->oid = entry->oid;
		table->name = pg_strdup(fmtQualifiedId(entry->namespace, entry->tag));
		read_copy_statement(table);

		/*
		 * Without a definition, the table exists already in the target, with
		 * its keys and triggers, which limits how its rows may be split.
		 */
		table->has_definition = by_id[toc_table_dump_id(entry)] != NULL;
		result->n_tables++;
	}
	return result;
}

/*
 * Returns the numbers of the tables by the dump IDs of their definitions,
 * with -1 for other IDs; the caller owns the array.
 */
static int *
number_tables(const DumpTables *tables, const Toc *toc)
{
	int		   *numbers = pg_malloc((toc->max_dump_id + 1) * sizeof(int));

	for (int i = 0; i <= toc->max_dump_id; i++)
		numbers[i] = -1;
	for (int i = 0; i < tables->n_tables; i++)
	{
		int			id = toc_table_dump_id(tables->tables[i].entry);

		if (id <= toc->max_dump_id)
			numbers[id] = i;
	}
	return numbers;
}

int *
dump_tables_count_builds(const DumpTables *tables, const Toc *toc)
{
	int		   *numbers = number_tables(tables, toc);
	int		   *counts = pg_malloc0((tables->n_tables + 1) * sizeof(int));
	bool	   *has_index = pg_malloc0(tables->n_tables + 1);

	for (int i = 0; i < toc->n_entries; i++)
	{
		const TocEntry *entry = &toc->entries[i];
		bool		constraint = toc_entry_is(entry, "CONSTRAINT");

		if (!constraint && !toc_entry_is(entry, "INDEX"))
			continue;
		for (int j = 0; j < entry->n_deps; j++)
		{
			int			id = entry->deps[j];
			int			table = id > 0 && id <= toc->max_dump_id ? numbers[id] : -1;

			/*
			 * Indexes can be built concurrently, so all of them count as one
			 * build.
			 */
			if (table < 0 || (!constraint && has_index[table]))
				continue;
			counts[table]++;
			has_index[table] |= !constraint;
			break;
		}
	}
	return counts;
}

char *
dump_table_select_list(const DumpTable *table)
{
	char	  **list = pg_malloc((table->n_columns + 1) * sizeof(char *));
	char	   *result;

	for (int i = 0; i < table->n_columns; i++)
		list[i] = table->masks && table->masks[i].sql ? table->masks[i].sql
			: table->columns[i];
	result = identifier_join(list, table->n_columns);
	free(list);
	return result;
}

int
dump_table_count_masks(const DumpTable *table)
{
	int			n = 0;

	for (int i = 0; table->masks && i < table->n_columns; i++)
		n += table->masks[i].sql != NULL;
	return n;
}

int
dump_tables_count_masks(const DumpTables *tables)
{
	int			n = 0;

	for (int i = 0; i < tables->n_tables; i++)
		n += dump_table_count_masks(&tables->tables[i]);
	return n;
}

char *
dump_tables_oids(const DumpTables *tables)
{
	Oid		   *oids = pg_malloc((tables->n_tables + 1) * sizeof(Oid));
	char	   *result;

	for (int i = 0; i < tables->n_tables; i++)
		oids[i] = tables->tables[i].oid;
	result = oid_array(oids, tables->n_tables);
	free(oids);
	return result;
}

/* ----------
 * The tables on the server.
 *
 * pg_dump's table of contents contains the names and OIDs of tables.  pg_dump
 * may have ended and released its lock before the leader takes its own, so a
 * name may lead to another relation.  Therefore every name must still lead to
 * its OID after locking.  source_check.c finds all other changes.
 * ----------
 */

/*
 * One row per table, in the order of the array.  An extension's configuration
 * tables have a condition that is not in the archive
 * (pg_dump.c:processExtensionTables).  Servers before 12 have no
 * pg_partition_root().
 *
 * Planning a query evaluates constant expressions of the table's indexes,
 * statistics and, with constraint_exclusion, constraints
 * (plancat.c:get_relation_info).  So it runs their functions as the current
 * user.  The table's owner can create these at any time, in spite of our
 * lock, and so can the owner of a partitioned table above it.  The owner of
 * the schema can rename it, and put another table in the place of this one.
 */
static const char describe_query[] =
"WITH " TRUSTED_SQL
" SELECT c.relkind, c.relam OPERATOR(pg_catalog.=) 0"
" OR a.amname OPERATOR(pg_catalog.=) 'heap', e.condition,"
" pg_catalog.row_security_active(c.oid),"
" EXISTS (SELECT FROM pg_catalog.pg_constraint k"
" WHERE k.conrelid OPERATOR(pg_catalog.=) c.oid"
" AND k.contype OPERATOR(pg_catalog.=) 'f'"
" AND EXISTS (WITH RECURSIVE up (oid) AS (SELECT c.oid UNION"
" SELECT i.inhparent FROM pg_catalog.pg_inherits i"
" JOIN up ON up.oid OPERATOR(pg_catalog.=) i.inhrelid)"
" SELECT FROM up WHERE up.oid OPERATOR(pg_catalog.=) k.confrelid)),"
" r.nspname, r.relname,"
" (SELECT pg_catalog.pg_get_userbyid(o.oid) FROM (SELECT c.relowner UNION ALL"
" SELECT CASE WHEN pg_catalog.pg_get_userbyid(s.nspowner) OPERATOR(pg_catalog.=)"
" 'pg_database_owner'::pg_catalog.name THEN (SELECT d.datdba FROM pg_catalog.pg_database d"
" WHERE d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database())"
" ELSE s.nspowner END UNION ALL"
" (WITH RECURSIVE up (oid) AS (SELECT c.oid UNION"
" SELECT i.inhparent FROM pg_catalog.pg_inherits i"
" JOIN up ON up.oid OPERATOR(pg_catalog.=) i.inhrelid)"
" SELECT p.relowner FROM up"
" JOIN pg_catalog.pg_class p ON p.oid OPERATOR(pg_catalog.=) up.oid)) o (oid)"
" WHERE o.oid NOT IN (SELECT w.oid FROM trusted w) LIMIT 1),"
" pg_catalog.has_table_privilege(c.oid, 'SELECT'::pg_catalog.text),"
" CASE WHEN e.oid IS NOT NULL THEN (WITH RECURSIVE down (oid) AS ("
"SELECT k.confrelid FROM pg_catalog.pg_constraint k"
" WHERE k.conrelid OPERATOR(pg_catalog.=) c.oid"
" AND k.contype OPERATOR(pg_catalog.=) 'f' UNION"
" SELECT i.inhrelid FROM down"
" JOIN pg_catalog.pg_inherits i ON i.inhparent OPERATOR(pg_catalog.=) down.oid)"
" SELECT pg_catalog.string_agg(o.no::pg_catalog.text, ',') FROM down"
" JOIN pg_catalog.unnest($1::pg_catalog.oid[]) WITH ORDINALITY o (oid, no)"
" ON o.oid OPERATOR(pg_catalog.=) down.oid AND o.oid OPERATOR(pg_catalog.<>) c.oid) END"
" FROM pg_catalog.unnest($1::pg_catalog.oid[]) WITH ORDINALITY t (oid, no)"
" LEFT JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) t.oid"
" LEFT JOIN pg_catalog.pg_namespace s ON s.oid OPERATOR(pg_catalog.=) c.relnamespace"
" LEFT JOIN pg_catalog.pg_am a ON a.oid OPERATOR(pg_catalog.=) c.relam"
" LEFT JOIN (SELECT u.oid, u.condition FROM pg_catalog.pg_extension x,"
" ROWS FROM (pg_catalog.unnest(x.extconfig), pg_catalog.unnest(x.extcondition))"
" u (oid, condition)) e"
" ON e.oid OPERATOR(pg_catalog.=) t.oid"
" LEFT JOIN LATERAL (WITH RECURSIVE up (oid, level) AS (SELECT c.oid, 0 UNION ALL"
" SELECT i.inhparent, up.level OPERATOR(pg_catalog.+) 1 FROM up"
" JOIN pg_catalog.pg_inherits i ON i.inhrelid OPERATOR(pg_catalog.=) up.oid"
" JOIN pg_catalog.pg_class p ON p.oid OPERATOR(pg_catalog.=) i.inhparent"
" AND p.relkind OPERATOR(pg_catalog.=) 'p')"
" SELECT n.nspname, p.relname FROM up"
" JOIN pg_catalog.pg_class p ON p.oid OPERATOR(pg_catalog.=) up.oid"
" JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) p.relnamespace"
" WHERE up.level OPERATOR(pg_catalog.>) 0 ORDER BY up.level DESC LIMIT 1) r ON true"
" ORDER BY t.no";

/* Parse a list of table numbers, from 1, with commas. */
static void
read_referenced(DumpTables *tables, DumpTable *table, const char *list)
{
	table->referenced = pg_malloc((strlen(list) + 1) * sizeof(int));
	for (const char *c = list; *c; c += *c == ',')
	{
		char	   *end;
		long		no = strtol(c, &end, 10);

		if (end == c || no < 1 || no > tables->n_tables)
			session_unexpected(psprintf("The list of tables \"%s\" is invalid.",
										printable(list)));
		table->referenced[table->n_referenced++] = (int) no - 1;
		c = end;
	}
}

/*
 * Does "from" reference the table "to", directly or through other tables?
 * The arrays have room for all tables.
 */
static bool
reaches(const DumpTables *tables, int from, int to, int *queue, bool *seen)
{
	int			n = 0;

	memset(seen, 0, tables->n_tables * sizeof(bool));
	queue[n++] = from;
	seen[from] = true;
	for (int i = 0; i < n; i++)
	{
		const DumpTable *table = &tables->tables[queue[i]];

		for (int j = 0; j < table->n_referenced; j++)
		{
			int			next = table->referenced[j];

			if (next == to)
				return true;
			if (!seen[next])
				queue[n++] = next;
			seen[next] = true;
		}
	}
	return false;
}

/*
 * Drop references within a cycle, where the archive's order is used instead.
 */
static void
drop_cycles(DumpTables *tables)
{
	bool	   *seen = pg_malloc((tables->n_tables + 1) * sizeof(bool));
	int		   *queue = pg_malloc((tables->n_tables + 1) * sizeof(int));
	int		   *n_kept = pg_malloc0((tables->n_tables + 1) * sizeof(int));

	for (int i = 0; i < tables->n_tables; i++)
	{
		DumpTable  *table = &tables->tables[i];

		for (int j = 0; j < table->n_referenced; j++)
		{
			int			other = table->referenced[j];

			if (reaches(tables, other, i, queue, seen))
			{
				table->in_cycle = true;
				continue;
			}

			/*
			 * Kept references come first in the array; none is removed yet.
			 */
			table->referenced[j] = table->referenced[n_kept[i]];
			table->referenced[n_kept[i]++] = other;
		}
	}
	for (int i = 0; i < tables->n_tables; i++)
		tables->tables[i].n_referenced = n_kept[i];
}

static void
dump_table_describe(PGconn *conn, DumpTables *tables, const char *oids,
					bool trust_owners)
{
	const char *params[] = {oids};
	PGresult   *res = session_query_params(conn, describe_query, 1, params, 0);

	session_expect_tables(res, tables->n_tables);
	for (int i = 0; i < tables->n_tables; i++)
	{
		DumpTable  *table = &tables->tables[i];

		/* The table was dropped after pg_dump had described it. */
		if (PQgetisnull(res, i, 0))
		{
			pg_log_error("table %s was dropped or replaced while the run started",
						 printable(table->name));
			pg_fatal_hint("Run the same command again.");
		}
		table->relkind = PQgetvalue(res, i, 0)[0];
		table->is_heap = result_is_true(res, i, 1);
		table->row_security = result_is_true(res, i, 3);
		table->references_itself = result_is_true(res, i, 4);
		table->columns_granted = !result_is_true(res, i, 8);
		if (PQgetlength(res, i, 2) > 0)
			table->condition = pg_strdup(PQgetvalue(res, i, 2));
		if (!PQgetisnull(res, i, 7) && !trust_owners)
			table->stranger = pg_strdup(PQgetvalue(res, i, 7));
		if (!PQgetisnull(res, i, 9))
			read_referenced(tables, table, PQgetvalue(res, i, 9));
		if (PQgetisnull(res, i, 5))
			continue;
		table->root_schema = pg_strdup(PQgetvalue(res, i, 5));
		table->root_table = pg_strdup(PQgetvalue(res, i, 6));
	}
	PQclear(res);
	drop_cycles(tables);
}

void
dump_tables_lock(PGconn *conn, const DumpTables *tables, int wait_ms)
{
	char	  **names = pg_malloc((tables->n_tables + 1) * sizeof(char *));
	int			n_names = 0;

	/*
	 * LOCK TABLE does not work for foreign tables; pg_dump does not lock them
	 * either.
	 */
	for (int i = 0; i < tables->n_tables; i++)
		if (tables->tables[i].relkind == RELKIND_RELATION)
			names[n_names++] = tables->tables[i].name;
	table_lock_take(conn, names, n_names, wait_ms);
}

char *
dump_tables_name_array(PGconn *conn, const DumpTables *tables, bool copy_names)
{
	char	  **names = pg_malloc((tables->n_tables + 1) * sizeof(char *));
	char	   *result;

	for (int i = 0; i < tables->n_tables; i++)
		names[i] = copy_names ? tables->tables[i].copy_name
			: tables->tables[i].name;
	result = text_array(conn, names, tables->n_tables);
	free(names);
	return result;
}

/*
 * to_regclass() uses the current catalogs instead of the snapshot's, and so
 * do the sizes and pg_relation_filenode().  The last two columns describe the
 * server, and are the same in each row.
 */
static const char measure_query[] =
"SELECT pg_catalog.to_regclass(t.name) OPERATOR(pg_catalog.=) t.oid,"
" pg_catalog.pg_relation_size(t.oid),"
" CASE WHEN c.reltoastrelid OPERATOR(pg_catalog.<>) 0"
" THEN pg_catalog.pg_relation_size(c.reltoastrelid) END,"
" pg_catalog.pg_relation_filenode(c.oid),"
" CASE WHEN c.reltablespace OPERATOR(pg_catalog.<>) 0 THEN c.reltablespace"
" ELSE (SELECT d.dattablespace FROM pg_catalog.pg_database d"
" WHERE d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()) END,"
" c.relpersistence OPERATOR(pg_catalog.=) 'p',"
" GREATEST(c.reltuples, 0)::pg_catalog.int8,"
" pg_catalog.current_setting('block_size'),"
" pg_catalog.current_setting('max_locks_per_transaction')"
" FROM ROWS FROM (pg_catalog.unnest(%s::pg_catalog.oid[]),"
" pg_catalog.unnest(%s::pg_catalog.text[]))"
" WITH ORDINALITY t (oid, name, no)"
" LEFT JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) t.oid"
" ORDER BY t.no";

enum
{
	NAME_IS_SAME,
	HEAP_BYTES,
	TOAST_BYTES,
	FILENODE,
	TABLESPACE,
	IS_LOGGED,
	EST_ROWS,
	BLOCK_BYTES,
	LOCKS_PER_SESSION
};

char *
dump_tables_query(PGconn *conn, const DumpTables *tables)
{
	char	   *oids = dump_tables_oids(tables);
	char	   *names = dump_tables_name_array(conn, tables, false);
	char	   *literals[] = {session_literal(conn, oids),
	session_literal(conn, names)};
	char	   *result = psprintf(measure_query, literals[0], literals[1]);

	free(literals[0]);
	free(literals[1]);
	free(names);
	free(oids);
	return result;
}

const char *
dump_tables_replaced(const PGresult *res, const DumpTables *tables)
{
	for (int i = 0; i < PQntuples(res) && i < tables->n_tables; i++)
		if (!PQgetisnull(res, i, NAME_IS_SAME) &&
			!result_is_true(res, i, NAME_IS_SAME))
			return tables->tables[i].name;
	return NULL;
}

/*
 * Check the block size, because the program divides by it, and only the
 * server's text is known.
 */
static int
block_bytes(const char *text)
{
	char	   *end;
	long		result = strtol(text, &end, 10);

	/* These are the values that configure allows (--with-blocksize). */
	if (*end != '\0' || result < 1024 || result > 32768 || (result & (result - 1)) != 0)
		session_unexpected(psprintf("The block size \"%s\" is invalid.",
									printable(text)));
	return (int) result;
}

static void
measure(PGconn *conn, DumpTables *tables)
{
	PGresult   *res = session_query(conn, dump_tables_query(conn, tables));

	session_expect_tables(res, tables->n_tables);
	tables->block_bytes = BLCKSZ;
	if (PQntuples(res) > 0)
	{
		tables->block_bytes = block_bytes(PQgetvalue(res, 0, BLOCK_BYTES));
		tables->locks_per_session = atoi(PQgetvalue(res, 0, LOCKS_PER_SESSION));
	}
	for (int i = 0; i < tables->n_tables; i++)
	{
		DumpTable  *table = &tables->tables[i];

		if (!result_is_true(res, i, NAME_IS_SAME))
		{
			pg_log_error("table %s was dropped or replaced while the run started",
						 printable(table->name));
			pg_fatal_hint("Run the same command again.");
		}
		table->filenode = result_oid(res, i, FILENODE);
		table->tablespace = result_oid(res, i, TABLESPACE);
		table->is_logged = result_is_true(res, i, IS_LOGGED);
		table->est_rows = result_number(res, i, EST_ROWS);
		table->heap_bytes = result_number(res, i, HEAP_BYTES);

		/*
		 * The value is "" without a TOAST table, or if that was replaced
		 * since the snapshot.
		 */
		table->total_bytes = table->heap_bytes +
			result_number(res, i, TOAST_BYTES);
		table->heap_blocks = (BlockNumber) (table->heap_bytes /
											tables->block_bytes);
	}
}

DumpTables *
dump_tables_read(PGconn *conn, const Toc *toc, const Options *options,
				 int lock_wait_ms)
{
	DumpTables *tables = dump_tables_of_toc(toc);

	/*
	 * Describe the tables first, because foreign tables cannot be locked;
	 * then lock them, and measure them under the lock, so that no table is
	 * replaced in between.  source_check.c checks later whether the
	 * description is still valid.
	 */
	tables->server_version = PQserverVersion(conn);
	dump_table_describe(conn, tables, dump_tables_oids(tables),
						options->trust_owners);
	dump_tables_lock(conn, tables, lock_wait_ms);
	measure(conn, tables);
	return tables;
}
