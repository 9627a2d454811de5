/*
 * clean_objects.c
 *		What --clean drops, and what depends on it.
 */
#include "base/fe_compat.h"

#include <limits.h>

#include "pqexpbuffer.h"

#include "base/message.h"
#include "base/units.h"
#include "definitions/clean.h"
#include "definitions/clean_query.h"
#include "session/session.h"

/* More objects than that are only counted. */
#define OBJECTS_SHOWN 10

/* How pg_dump "drops" a view that other objects need as well as it them. */
#define CREATE_VIEW "CREATE OR REPLACE VIEW "

/* Other sessions need locks, too, while objects are dropped. */
#define LOCKS_KEPT 100

/* Words of lists. */
#define BELONGS_TO "belongs to"
#define DEPENDS_ON "depends on"

#define OWNERS_HINT \
"An object can be dropped by its owner, by the owner of its schema, and by superusers; an object of an extension only with the extension"
#define ROWS_HINT \
"--allow-existing adds the rows of the archive, as pg_restore does; --no-data-for-failed-tables leaves them out."

/* ----------
 * Which entries
 * ----------
 */

/*
 * An index, or a constraint that has one, may use a function, say, that is
 * dropped before their table, because it depends on the table.
 */
static bool
needs_more_than_tables(const RestoreStages *stages, const TocEntry *entry)
{
	static const char *const tables[] = {
		"TABLE", "MATERIALIZED VIEW", "INDEX", "CONSTRAINT", "TABLE ATTACH", NULL
	};

	for (int i = 0; i < entry->n_deps; i++)
	{
		int			id = entry->deps[i];
		const TocEntry *needed = id > 0 && id <= stages->setup.toc->max_dump_id ?
			stages->setup.by_id[id] : NULL;

		if (needed && !toc_entry_is_one_of(needed, tables))
			return true;
	}
	return false;
}

static bool
goes_with_table(const TocEntry *entry)
{
	static const char *const kinds[] = {
		"INDEX", "INDEX ATTACH", "CONSTRAINT", NULL
	};

	return toc_entry_is_one_of(entry, kinds);
}

bool
clean_objects_may_fail(const TocEntry *entry)
{
	return goes_with_table(entry) ||
		strncmp(entry->drop_stmt, CREATE_VIEW, strlen(CREATE_VIEW)) == 0;
}

/*
 * Indexes, and constraints that have one, go with their tables, and those of
 * partitions only so; pg_restore tries anyway.
 */
bool
clean_objects_has(const RestoreStages *stages, int number)
{
	const TocEntry *entry = &stages->schedule->toc->entries[number];
	RestorePhase phase = stages->schedule->phases[number];

	if (entry->drop_stmt == NULL)
		return false;
	if (phase != RESTORE_PRE_DATA && phase != RESTORE_POST_DATA &&
		phase != RESTORE_INDEXES && phase != RESTORE_EVENT_TRIGGERS)
		return false;
	return stages->as_pg_restore || !goes_with_table(entry) ||
		needs_more_than_tables(stages, entry);
}

/* The catalog that has an entry's object, and its schema, if it has one. */
static const struct
{
	const char *desc;
	const char *catalog;
	bool		has_schema;
}			catalogs[] = {
	{"ACCESS METHOD", "pg_am", false},
	{"AGGREGATE", "pg_proc", true},
	{"CAST", "pg_cast", false},
	{"CHECK CONSTRAINT", "pg_constraint", true},
	{"COLLATION", "pg_collation", true},
	{"CONSTRAINT", "pg_constraint", true},
	{"CONVERSION", "pg_conversion", true},
	{"DEFAULT", "pg_attrdef", true},
	{"DOMAIN", "pg_type", true},
	{"EVENT TRIGGER", "pg_event_trigger", false},
	{"EXTENSION", "pg_extension", false},
	{"FK CONSTRAINT", "pg_constraint", true},
	{"FOREIGN DATA WRAPPER", "pg_foreign_data_wrapper", false},
	{"FOREIGN TABLE", "pg_class", true},
	{"FUNCTION", "pg_proc", true},
	{"INDEX", "pg_class", true},
	{"MATERIALIZED VIEW", "pg_class", true},
	{"OPERATOR", "pg_operator", true},
	{"OPERATOR CLASS", "pg_opclass", true},
	{"OPERATOR FAMILY", "pg_opfamily", true},
	{"POLICY", "pg_policy", true},
	{"PROCEDURAL LANGUAGE", "pg_language", false},
	{"PROCEDURE", "pg_proc", true},
	{"RULE", "pg_rewrite", true},
	{"SCHEMA", "pg_namespace", false},
	{"SEQUENCE", "pg_class", true},
	{"SERVER", "pg_foreign_server", false},
	{"SHELL TYPE", "pg_type", true},
	{"TABLE", "pg_class", true},
	{"TEXT SEARCH CONFIGURATION", "pg_ts_config", true},
	{"TEXT SEARCH DICTIONARY", "pg_ts_dict", true},
	{"TEXT SEARCH PARSER", "pg_ts_parser", true},
	{"TEXT SEARCH TEMPLATE", "pg_ts_template", true},
	{"TRANSFORM", "pg_transform", false},
	{"TRIGGER", "pg_trigger", true},
	{"TYPE", "pg_type", true},
	{"USER MAPPING", "pg_user_mapping", false},
	{"VIEW", "pg_class", true}
};

/* Its number in catalogs, or -1. */
static int
catalog_of(const TocEntry *entry)
{
	/* a comment stands for a statement, as of the schema "public" */
	if (strncmp(entry->drop_stmt, "--", 2) == 0)
		return -1;
	for (int i = 0; i < (int) lengthof(catalogs); i++)
		if (toc_entry_is(entry, catalogs[i].desc))
			return catalogs[i].has_schema && entry->namespace == NULL ? -1 : i;
	return -1;
}

/* ----------
 * Which objects
 * ----------
 */

/*
 * The objects that keep others.  Of an object that belongs to another one, as
 * a view's rule does, the other one is named.  Each row has their number.
 */
#define KEEPERS_QUERY(by, more) KEEPERS(by) more \
") SELECT k.name, pg_catalog.min(k.depends_on), pg_catalog.count(*) OVER () FROM (" \
"SELECT COALESCE(pg_catalog.pg_describe_object(i.refclassid, i.refobjid, 0)," \
" pg_catalog.pg_describe_object(d.classid, d.objid, d.objsubid))," \
" pg_catalog.pg_describe_object(d.refclassid, d.refobjid, 0)" \
" FROM keepers d LEFT JOIN pg_catalog.pg_depend i" \
" ON " IS_SAME("i", "d") " AND i.deptype OPERATOR(pg_catalog.=) 'i'::pg_catalog.\"char\"" \
") k (name, depends_on) WHERE k.name IS NOT NULL" \
" GROUP BY k.name ORDER BY k.name COLLATE \"C\" LIMIT " CppAsString2(OBJECTS_SHOWN)

static const char keepers_query[] = KEEPERS_QUERY(BY_RESTORE, "");
static const char copy_keepers_query[] = KEEPERS_QUERY(BY_COPY, FILLED_PARTITIONS);

/* The planned objects whose DROP would fail.  Each row has their number. */
static const char obstacles_query[] =
PLANNED
") SELECT o.name, o.obstacle, pg_catalog.count(*) OVER () FROM ("
"SELECT pg_catalog.pg_describe_object(classid, objid, 0), obstacle"
" FROM planned_objects WHERE obstacle IS NOT NULL"
" AND how OPERATOR(pg_catalog.<>) 'tried'"
") o (name, obstacle) WHERE o.name IS NOT NULL"
" ORDER BY o.name COLLATE \"C\" LIMIT " CppAsString2(OBJECTS_SHOWN);

/*
 * The numbers of the tables in $6 and $7 that stay, and the obstacle to their
 * own DROP, if there is one.  What keepers depend on stays, and so on; and
 * with it what belongs to it and has no DROP statement that succeeds.
 */
static const char kept_tables_query[] =
KEEPERS(BY_RESTORE)
"), parts (classid, objid) AS ("
"SELECT a.classid, a.objid FROM (SELECT classid, objid, false FROM dropped"
" UNION ALL SELECT classid, objid, true FROM planned_objects" BY_RESTORE
") a (classid, objid, is_planned) GROUP BY a.classid, a.objid"
" HAVING NOT pg_catalog.bool_or(a.is_planned)"
"), edges (classid, objid, kept_classid, kept_objid) AS ("
"SELECT d.classid, d.objid, d.refclassid, d.refobjid FROM dropped s"
" JOIN pg_catalog.pg_depend d ON " IS_SAME("d", "s")
" UNION ALL SELECT d.refclassid, d.refobjid, d.classid, d.objid FROM parts s"
" JOIN pg_catalog.pg_depend d ON " IS_SAME("d", "s") " AND " GOES_ALONG("d")
"), kept (classid, objid) AS ("
"SELECT refclassid, refobjid FROM keepers"
" UNION SELECT e.kept_classid, e.kept_objid FROM kept k JOIN edges e ON " IS_SAME("e", "k")
"), undropped (classid, objid, obstacle) AS ("
"SELECT p.classid, p.objid, p.obstacle FROM planned_objects p"
" WHERE p.obstacle IS NOT NULL"
" AND NOT EXISTS (SELECT FROM dropped d WHERE " IS_SAME("d", "p") ")"
" UNION ALL SELECT classid, objid, NULL FROM kept"
") SELECT pg_catalog.max(a.no), pg_catalog.max(a.obstacle) FROM ("
"SELECT c.oid, t.no, NULL FROM ROWS FROM (pg_catalog.unnest($6::pg_catalog.text[]),"
" pg_catalog.unnest($7::pg_catalog.text[]))"
" WITH ORDINALITY t (schema, name, no)"
" JOIN pg_catalog.pg_namespace n ON n.nspname OPERATOR(pg_catalog.=) t.schema::pg_catalog.name"
" JOIN pg_catalog.pg_class c ON c.relnamespace OPERATOR(pg_catalog.=) n.oid"
" AND c.relname OPERATOR(pg_catalog.=) t.name::pg_catalog.name"
" UNION ALL SELECT objid, NULL, obstacle FROM undropped"
" WHERE classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass"
") a (oid, no, obstacle) GROUP BY a.oid"
" HAVING pg_catalog.max(a.no) IS NOT NULL AND pg_catalog.bool_or(a.no IS NULL)"
" ORDER BY 1";

/* Of the queries of a restore. */
#define RESTORE_PARAMS (PLANNED_PARAMS + 2)

/*
 * How many objects are dropped, and whether the lock table has room: a DROP
 * locks each object that it drops until the transaction ends.  The server has
 * more room than this, for its own processes.
 */
static const char locks_query[] =
DROPPED(BY_COPY)
"), locks (needed) AS (SELECT pg_catalog.count(*) FROM dropped"
") SELECT needed, (needed OPERATOR(pg_catalog.+) " CppAsString2(LOCKS_KEPT) "::pg_catalog.int8"
" OPERATOR(pg_catalog.+) (SELECT pg_catalog.count(*) FROM pg_catalog.pg_locks))"
" OPERATOR(pg_catalog.<=) (pg_catalog.current_setting('max_locks_per_transaction')::pg_catalog.int8"
" OPERATOR(pg_catalog.*) (pg_catalog.current_setting('max_connections')::pg_catalog.int8"
" OPERATOR(pg_catalog.+) pg_catalog.current_setting('max_prepared_transactions')::pg_catalog.int8))"
" FROM locks";

/*
 * The planner expects few rows of a recursive query, and would compare each
 * with each by nested loops, which takes minutes if there are thousands.
 */
static PGresult *
ask(PGconn *conn, const Options *options, const char *query, int n_params,
	char *const *params)
{
	PGresult   *res;

	session_begin_unwatched(conn, SESSION_BEGIN_READ_ONLY "; "
							SESSION_SET_LOCAL("enable_nestloop", "off"));
	/* as in the names that pg_dump has written */
	PQclear(session_query(conn, options->quote_all_identifiers ?
						  SESSION_SET_LOCAL("quote_all_identifiers", "on") :
						  SESSION_SET_LOCAL("quote_all_identifiers", "off")));
	res = session_query_params(conn, query, n_params,
							   (const char *const *) params, 0);
	session_command(conn, "COMMIT");
	return res;
}

/*
 * The tag of an entry, with what its DROP says besides: the arguments of an
 * operator, or the access method of an operator class or family.  Owned.
 */
static char *
full_tag(const TocEntry *entry)
{
	static const char using[] = " USING ";
	const char *drop = entry->drop_stmt;
	const char *found = NULL;
	char	   *result;

	if (toc_entry_is(entry, "OPERATOR"))
	{
		/* after the name of the schema, which may be quoted */
		drop += strcspn(drop, "\".");
		while (*drop == '"')
		{
			drop += 1 + strcspn(drop + 1, "\"");
			drop += *drop == '"' ? 1 : 0;
		}
		drop += *drop == '.' ? 1 : 0;
		if (strncmp(drop, entry->tag, strlen(entry->tag)) == 0)
			found = drop + strlen(entry->tag);
	}
	else if (toc_entry_is(entry, "OPERATOR CLASS") ||
			 toc_entry_is(entry, "OPERATOR FAMILY"))
		for (const char *next = drop; (next = strstr(next, using)) != NULL; next++)
			found = next;
	result = psprintf("%s%s", entry->tag, found ? found : "");
	if (found)
		result[strcspn(result, ";")] = '\0';
	return result;
}

/* What is special about the DROP: see clean_query.h. */
static const char *
how_dropped(const RestoreStages *stages, const TocEntry *entry)
{
	static const char cascade[] = " CASCADE;\n";
	size_t		length = strlen(entry->drop_stmt);

	if (!stages->as_pg_restore && clean_objects_may_fail(entry))
		return "tried";
	return length > strlen(cascade) &&
		strcmp(entry->drop_stmt + length - strlen(cascade), cascade) == 0 ?
		"cascade" : "";
}

/* Those of PLANNED; owned. */
static void
make_params(const RestoreStages *stages, PGconn *conn, char **params)
{
	static char none[] = "";
	const Toc  *toc = stages->schedule->toc;
	const char *role = stages->setup.options->role;
	char	  **columns[PLANNED_PARAMS - 1];
	int			n = 0;

	for (int i = 0; i < (int) lengthof(columns); i++)
		columns[i] = pg_malloc((toc->n_entries + 1) * sizeof(char *));
	for (int i = 0; i < toc->n_entries; i++)
	{
		const TocEntry *entry = &toc->entries[i];
		int			catalog;

		if (!clean_objects_has(stages, i))
			continue;
		catalog = catalog_of(entry);
		if (catalog < 0)
			continue;
		columns[0][n] = unconstify(char *, catalogs[catalog].catalog);
		columns[1][n] = catalogs[catalog].has_schema ? entry->namespace : none;
		columns[2][n] = full_tag(entry);
		columns[3][n++] = unconstify(char *, how_dropped(stages, entry));
	}
	for (int i = 0; i < (int) lengthof(columns); i++)
		params[i] = text_array(conn, columns[i], n);
	params[PLANNED_PARAMS - 1] = role ? pg_strdup(role) : NULL;
	for (int i = 0; i < n; i++)
		free(columns[2][i]);
	for (int i = 0; i < (int) lengthof(columns); i++)
		free(columns[i]);
}

static void
free_params(char **params, int n)
{
	for (int i = 0; i < n; i++)
		free(params[i]);
}

/* ----------
 * Before anything is changed
 * ----------
 */

/* Before a list of n names, of which OBJECTS_SHOWN follow at most. */
static const char *
introduction(int n)
{
	return n > OBJECTS_SHOWN ? "Among them: " : n > 1 ? "These are: " : "It is ";
}

/*
 * What a query has found, appended as a list, with the second column after
 * this word; returns how many there are.
 */
static int
list_objects(PGconn *conn, const Options *options, const char *query,
			 char *const *params, const char *word, PQExpBuffer list)
{
	PGresult   *res = ask(conn, options, query, PLANNED_PARAMS, params);
	int			n_shown = PQntuples(res);
	int			n = n_shown == 0 ? 0 : session_number(res, 0, 2, 1, INT_MAX);

	appendPQExpBufferStr(list, introduction(n));
	for (int i = 0; i < n_shown; i++)
		appendPQExpBuffer(list, "%s%s (%s %s)", i > 0 ? ", " : "",
						  printable(PQgetvalue(res, i, 0)), word,
						  printable(PQgetvalue(res, i, 1)));
	appendPQExpBufferChar(list, '.');
	PQclear(res);
	return n;
}

bool
clean_objects_fit(const RestoreStages *stages, int *n)
{
	PGconn	   *conn = stages->target->conn;
	char	   *params[PLANNED_PARAMS];
	PGresult   *res;
	bool		result;

	make_params(stages, conn, params);
	res = ask(conn, stages->setup.options, locks_query, PLANNED_PARAMS, params);
	*n = session_number(res, 0, 0, 0, INT_MAX);
	result = PQgetvalue(res, 0, 1)[0] == 't';
	PQclear(res);
	free_params(params, PLANNED_PARAMS);
	return result;
}

/* Report which objects cannot be dropped, and which others depend on them. */
static void
check_drops(const RestoreStages *stages, PGconn *conn)
{
	const Options *options = stages->setup.options;
	char	   *params[PLANNED_PARAMS];
	PQExpBufferData list;
	int			n;

	make_params(stages, conn, params);
	initPQExpBuffer(&list);
	n = list_objects(conn, options, obstacles_query, params, BELONGS_TO, &list);
	if (n > 0)
	{
		pg_log_error("--clean cannot drop %d of the objects that are to be copied", n);
		pg_log_error_detail("%s", list.data);
		pg_log_error_hint(OWNERS_HINT ".");
	}
	resetPQExpBuffer(&list);
	n = list_objects(conn, options, copy_keepers_query, params, DEPENDS_ON, &list);
	if (n > 0)
	{
		pg_log_error("--clean cannot drop objects that %d other object%s of the target depend%s on",
					 n, units_plural(n), n == 1 ? "s" : "");
		pg_log_error_detail("%s", list.data);
		pg_log_error_hint("Drop the other objects or detach the partitions first, or copy into another database.");
	}
	termPQExpBuffer(&list);
	free_params(params, PLANNED_PARAMS);
}

void
clean_objects_check_copy(const RestoreStages *stages)
{
	const Options *options = stages->setup.options;
	int			n;

	if (!options->clean || options->create)
		return;
	check_drops(stages, stages->target->conn);
	if (!clean_objects_fit(stages, &n))
	{
		pg_log_warning("the lock table of the target has too little room to drop %d objects in one transaction", n);
		pg_log_warning_detail("--clean drops them one by one, so that an error leaves some of them dropped.");
		pg_log_warning_hint("Increase max_locks_per_transaction of the target.");
	}
}

/*
 * The tables that cannot be dropped for a reason of their own, or else those
 * that other objects depend on, appended as a list without its end; returns
 * how many there are.
 */
static int
list_tables(const PGresult *res, const DumpTables *tables, bool own_reason,
			PQExpBuffer list)
{
	PQExpBufferData names;
	int			n = 0;

	initPQExpBuffer(&names);
	for (int i = 0; i < PQntuples(res); i++)
	{
		int			no = session_number(res, i, 0, 1, tables->n_tables) - 1;

		if (PQgetisnull(res, i, 1) == own_reason || n++ >= OBJECTS_SHOWN)
			continue;
		appendPQExpBuffer(&names, "%s%s", n > 1 ? ", " : "",
						  printable(tables->tables[no].name));
		if (own_reason)
			appendPQExpBuffer(&names, " (" BELONGS_TO " %s)",
							  printable(PQgetvalue(res, i, 1)));
	}
	appendPQExpBuffer(list, "%s%s", introduction(n), names.data);
	termPQExpBuffer(&names);
	return n;
}

static void
refuse_kept_tables(PGconn *conn, const Options *options, char *const *params,
				   const DumpTables *tables)
{
	PGresult   *res = ask(conn, options, kept_tables_query, RESTORE_PARAMS, params);
	PQExpBufferData list;
	PQExpBufferData keepers;
	int			n;

	initPQExpBuffer(&list);
	initPQExpBuffer(&keepers);
	n = list_tables(res, tables, true, &list);
	if (n > 0)
	{
		pg_log_error("--clean cannot drop %d of the tables that have rows in the archive",
					 n);
		pg_log_error_detail("%s.", list.data);
		pg_log_error_hint(OWNERS_HINT "; " ROWS_HINT);
	}
	resetPQExpBuffer(&list);
	n = list_tables(res, tables, false, &list);
	if (n > 0)
	{
		(void) list_objects(conn, options, keepers_query, params, DEPENDS_ON, &keepers);
		pg_log_error("--clean cannot drop %d of the tables that have rows in the archive, because other objects of the target depend on them",
					 n);
		pg_log_error_detail("%s. The other objects: %s", list.data, keepers.data);
		pg_log_error_hint("Drop the other objects first; " ROWS_HINT);
	}
	termPQExpBuffer(&list);
	termPQExpBuffer(&keepers);
	PQclear(res);
}

void
clean_objects_check_restore(const RestoreStages *stages, PGconn *conn,
							const DumpTables *tables)
{
	static char none[] = "";
	int			n = tables->n_tables;
	char	  **schemas = pg_malloc((n + 1) * sizeof(char *));
	char	  **names = pg_malloc((n + 1) * sizeof(char *));
	char	   *params[RESTORE_PARAMS];

	for (int i = 0; i < n; i++)
	{
		const TocEntry *entry = tables->tables[i].entry;

		/* without a definition in the archive the rows are added */
		schemas[i] = tables->tables[i].has_definition && entry->namespace ?
			entry->namespace : none;
		names[i] = entry->tag;
	}
	make_params(stages, conn, params);
	params[PLANNED_PARAMS] = text_array(conn, schemas, n);
	params[PLANNED_PARAMS + 1] = text_array(conn, names, n);
	refuse_kept_tables(conn, stages->setup.options, params, tables);
	free_params(params, RESTORE_PARAMS);
	free(schemas);
	free(names);
}
