/*
 * compare_lookup.c
 *		Finds what a plan names in another database, by names.
 */
#include "base/fe_compat.h"

#include "catalog/pg_class_d.h"
#include "fe_utils/string_utils.h"

#include "base/identifier.h"
#include "compare/compare_lookup.h"
#include "session/session.h"

typedef struct Lookup
{
	PGconn	   *conn;
	const DumpTables *tables;	/* of the plan */
	char	  **names;			/* by table: what it is looked for as */
	char	   *name_array;		/* these, as a literal */
	Toc		   *toc;			/* what was found */
	int			room;			/* for that number of entries */
	int		   *roots;			/* of the tables that are looked for as
								 * another one, the first of each name */
	int			n_roots;
} Lookup;

/* ----------
 * Names
 * ----------
 */
char *
compare_lookup_load_name(const DumpTable *table)
{
	const char *name = table->copy_name;
	const char *dot = identifier_skip(name, '.');
	char	   *schema = pnstrdup(name, dot - name);
	char	   *result;

	if (*dot == '\0')
		result = pg_strdup(name);
	else
	{
		char	   *unquoted[] = {identifier_unquote(schema), identifier_unquote(dot + 1)};

		result = pg_strdup(fmtQualifiedId(unquoted[0], unquoted[1]));
		free(unquoted[0]);
		free(unquoted[1]);
	}
	free(schema);
	return result;
}

static void
choose_names(Lookup *lookup, bool loaded)
{
	int			n = lookup->tables->n_tables;

	lookup->names = pg_malloc((n + 1) * sizeof(char *));
	for (int i = 0; i < n; i++)
		lookup->names[i] = loaded ?
			compare_lookup_load_name(&lookup->tables->tables[i]) :
			pg_strdup(lookup->tables->tables[i].name);
	lookup->name_array = text_array(lookup->conn, lookup->names, n);
}

/* ----------
 * Entries
 * ----------
 */

/*
 * The columns of the table that are in the server's list of them, as the
 * server quotes them: "a, b"; owned.
 */
static char *
common_columns(const DumpTable *table, const char *list)
{
	int			n;
	char	  **has = identifier_split(list, strlen(list), &n);
	char	  **common = pg_malloc((table->n_columns + 1) * sizeof(char *));
	int			n_common = 0;
	char	   *result;

	for (int i = 0; i < table->n_columns; i++)
	{
		char	   *wanted = identifier_unquote(table->columns[i]);
		bool		found = false;

		for (int j = 0; j < n && !found; j++)
		{
			char	   *name = identifier_unquote(has[j]);

			found = strcmp(name, wanted) == 0;
			if (found)
				common[n_common++] = has[j];
			free(name);
		}
		free(wanted);
	}
	result = identifier_join(common, n_common);
	for (int i = 0; i < n; i++)
		free(has[i]);
	free(has);
	free(common);
	return result;
}

/* The data of a table that was found, as pg_dump would describe them. */
static void
add_entry(Lookup *lookup, int no, const char *schema, const char *tag,
		  const char *oid, const char *columns)
{
	Toc		   *toc = lookup->toc;
	char	   *load_name = compare_lookup_load_name(&lookup->tables->tables[no]);
	TocEntry   *entry;

	if (toc->n_entries == lookup->room)
	{
		lookup->room = lookup->room * 2 + 64;
		toc->entries = pg_realloc(toc->entries, lookup->room * sizeof(TocEntry));
	}
	entry = &toc->entries[toc->n_entries++];
	*entry = *lookup->tables->tables[no].entry;
	entry->namespace = pg_strdup(schema);
	entry->tag = pg_strdup(tag);
	entry->oid = (Oid) strtoul(oid, NULL, 10);
	entry->copy_stmt = columns[0] == '\0' ?
		psprintf("COPY %s  FROM stdin;\n", load_name) :
		psprintf("COPY %s (%s) FROM stdin;\n", load_name, columns);
	free(load_name);
}

/*
 * Where rows may be that were loaded by way of a partitioned table ($1): in
 * tables below it, but not in those that are loaded for themselves (of $2),
 * and not in foreign ones, which may be out of reach.
 */
static const char parts_query[] =
"WITH RECURSIVE tree (oid) AS (SELECT pg_catalog.to_regclass($1)::pg_catalog.oid"
" UNION SELECT i.inhrelid FROM pg_catalog.pg_inherits i"
" JOIN tree ON tree.oid OPERATOR(pg_catalog.=) i.inhparent),"
" part AS (SELECT oid FROM tree EXCEPT"
" SELECT pg_catalog.to_regclass(name)::pg_catalog.oid"
" FROM pg_catalog.unnest($2::pg_catalog.text[]) t (name)"
" WHERE name OPERATOR(pg_catalog.<>) $1)"
"SELECT c.oid, n.nspname, c.relname"
" FROM part JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) part.oid"
" JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace"
" WHERE c.relkind OPERATOR(pg_catalog.=) 'r'::pg_catalog.\"char\""
" ORDER BY n.nspname, c.relname";

static void
add_parts(Lookup *lookup, int no, const char *columns)
{
	const char *params[] = {lookup->names[no], lookup->name_array};
	PGresult   *res = session_query_params(lookup->conn, parts_query, 2,
										   params, 0);

	for (int i = 0; i < PQntuples(res); i++)
		add_entry(lookup, no, PQgetvalue(res, i, 1), PQgetvalue(res, i, 2),
				  PQgetvalue(res, i, 0), columns);
	PQclear(res);
}

/* Are the rows of this table loaded where those of one before it are? */
static bool
is_added(Lookup *lookup, int no)
{
	if (strcmp(lookup->names[no], lookup->tables->tables[no].name) == 0)
		return false;
	for (int i = 0; i < lookup->n_roots; i++)
		if (strcmp(lookup->names[lookup->roots[i]], lookup->names[no]) == 0)
			return true;
	lookup->roots[lookup->n_roots++] = no;
	return false;
}

/* One row a table, in the order of the array; NULL if there is none. */
static const char find_query[] =
"SELECT c.oid, c.relkind, n.nspname, c.relname,"
" (SELECT pg_catalog.string_agg(pg_catalog.quote_ident(a.attname::pg_catalog.text), ', ')"
" FROM pg_catalog.pg_attribute a WHERE a.attrelid OPERATOR(pg_catalog.=) c.oid"
" AND a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped)"
" FROM pg_catalog.unnest($1::pg_catalog.text[]) WITH ORDINALITY t (name, no)"
" LEFT JOIN pg_catalog.pg_class c"
" ON c.oid OPERATOR(pg_catalog.=) pg_catalog.to_regclass(t.name)::pg_catalog.oid"
" AND c.relkind OPERATOR(pg_catalog.=) ANY ('{r,p,f}')"
" LEFT JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace"
" ORDER BY t.no";

Toc *
compare_lookup_tables(PGconn *conn, const DumpPlan *plan, bool loaded,
					  const char **missing)
{
	Lookup		lookup = {.conn = conn,.tables = plan->tables};
	int			n = plan->tables->n_tables;
	const char *params[1];
	PGresult   *res;

	choose_names(&lookup, loaded);
	lookup.roots = pg_malloc((n + 1) * sizeof(int));
	lookup.toc = pg_malloc(sizeof(Toc));
	*lookup.toc = *plan->pg_dump_toc;
	lookup.toc->entries = NULL;
	lookup.toc->n_entries = 0;
	*missing = NULL;
	params[0] = lookup.name_array;
	res = session_query_params(conn, find_query, 1, params, 0);
	for (int i = 0; i < n; i++)
	{
		const DumpTable *table = &plan->tables->tables[i];
		char		relkind = PQgetvalue(res, i, 1)[0];
		char	   *columns = common_columns(table, PQgetvalue(res, i, 4));

		if (PQgetisnull(res, i, 0))
			*missing = *missing ? *missing : table->name;
		else if (is_added(&lookup, i))
			 /* with the one before */ ;
		else if (relkind == RELKIND_PARTITIONED_TABLE)
			add_parts(&lookup, i, columns);
		else if (relkind == RELKIND_RELATION)
			add_entry(&lookup, i, PQgetvalue(res, i, 2), PQgetvalue(res, i, 3),
					  PQgetvalue(res, i, 0), columns);
		free(columns);
	}
	PQclear(res);
	free(lookup.roots);
	free(lookup.name_array);
	for (int i = 0; i < n; i++)
		free(lookup.names[i]);
	free(lookup.names);
	return lookup.toc;
}

/* ----------
 * Large objects
 * ----------
 */
static const char objects_query[] =
"SELECT m.oid FROM pg_catalog.pg_largeobject_metadata m"
" WHERE m.oid OPERATOR(pg_catalog.=) ANY ($1::pg_catalog.oid[]) ORDER BY m.oid";

LargeObjects *
compare_lookup_objects(PGconn *conn, const LargeObjects *objects)
{
	LargeObjectList *list = pg_malloc0(sizeof(LargeObjectList));
	LargeObjects *result;

	list->oids = pg_malloc((objects->n_objects + 1) * sizeof(Oid));
	for (int i = 0; i < objects->n_groups; i++)
	{
		char	   *oids = oid_array(objects->groups[i].oids,
									 objects->groups[i].n_oids);
		const char *params[] = {oids};
		PGresult   *res = session_query_params(conn, objects_query, 1, params, 0);

		for (int j = 0; j < PQntuples(res) && list->n_oids < objects->n_objects; j++)
			list->oids[list->n_oids++] =
				(Oid) strtoul(PQgetvalue(res, j, 0), NULL, 10);
		PQclear(res);
		free(oids);
	}
	result = large_objects_of_lists(list, 1);
	result->est_bytes = objects->est_bytes;
	return result;
}
