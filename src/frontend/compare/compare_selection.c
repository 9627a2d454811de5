/*
 * compare_selection.c
 *		Finds the tables of an archive, or of the other database, that
 *		pg_dump's options select.
 *
 * Stock pg_dump applies options such as -t and -n to a database.  An archive,
 * or a table that only the other database has, must be selected by the same
 * rules, so they are repeated here (pg_dump.c: selectDumpableNamespace,
 * selectDumpableTable, getOwnedSeqs): tables that are named explicitly are
 * selected in any schema; otherwise the tables of the named schemas, or all;
 * and excluded ones are removed.  A sequence is also selected with the table
 * that owns it.
 *
 * The server matches the patterns, with the conditions from
 * processSQLNamePattern(), against names that are sent as arrays.
 */
#include "base/fe_compat.h"

#include "fe_utils/string_utils.h"

#include "base/buffer.h"
#include "compare/compare_selection.h"
#include "session/session.h"

typedef enum PatternKind
{
	PATTERN_TABLE,				/* tables to dump */
	PATTERN_NO_TABLE,
	PATTERN_NO_DATA,
	PATTERN_SCHEMA,
	PATTERN_NO_SCHEMA,
	PATTERN_EXTENSION,
	PATTERN_NO_EXTENSION,
	PATTERN_OBJECTS,			/* these four have no pattern */
	PATTERN_NO_OBJECTS,
	PATTERN_NO_UNLOGGED,
	PATTERN_STRICT,
	PATTERN_FILE,				/* file with patterns, which this program does
								 * not read */
	N_PATTERN_KINDS
} PatternKind;

/* An option that selects objects, in the form from options_parse.c. */
typedef struct ChoosingOption
{
	const char *option;
	bool		is_long;		/* "=" precedes its value */
	PatternKind kind;
} ChoosingOption;

static const ChoosingOption choosing[] = {
	{"-t", false, PATTERN_TABLE},
	{"--table-and-children", true, PATTERN_TABLE},
	{"-T", false, PATTERN_NO_TABLE},
	{"--exclude-table-and-children", true, PATTERN_NO_TABLE},
	{"--exclude-table-data", true, PATTERN_NO_DATA},
	{"--exclude-table-data-and-children", true, PATTERN_NO_DATA},
	{"-n", false, PATTERN_SCHEMA},
	{"-N", false, PATTERN_NO_SCHEMA},
	{"-e", false, PATTERN_EXTENSION},
	{"--exclude-extension", true, PATTERN_NO_EXTENSION},
	{"-b", false, PATTERN_OBJECTS},
	{"-B", false, PATTERN_NO_OBJECTS},
	{"--no-unlogged-table-data", false, PATTERN_NO_UNLOGGED},
	{"--strict-names", false, PATTERN_STRICT},
	{"--filter", true, PATTERN_FILE},
};

/* The columns of a query that contain a name. */
typedef struct NameColumns
{
	const char *schema;
	const char *name;
	const char *visible;
} NameColumns;

/* ----------
 * Options
 * ----------
 */

/*
 * Does argument number *i for pg_dump select objects?  Sets *kind, and
 * *pattern, which is NULL without a pattern; *i becomes the number of the
 * option's last argument.
 */
static bool
take_choice(const Options *options, int *i, PatternKind *kind,
			const char **pattern)
{
	const char *arg = options->pg_dump_args[*i];

	for (int j = 0; j < (int) lengthof(choosing); j++)
	{
		size_t		len = strlen(choosing[j].option);

		if (strncmp(arg, choosing[j].option, len) != 0 ||
			arg[len] != (choosing[j].is_long ? '=' : '\0'))
			continue;
		*kind = choosing[j].kind;
		*pattern = choosing[j].is_long ? arg + len + 1 : NULL;
		if (!choosing[j].is_long && *kind < PATTERN_OBJECTS)
			*pattern = options->pg_dump_args[++*i];
		return true;
	}
	/* The value of a short option must not be mistaken for an option. */
	if (arg[0] == '-' && arg[1] != '-' && arg[1] != '\0' &&
		strchr("ES", arg[1]) != NULL && arg[2] == '\0')
		*i += 1;
	return false;
}

/* Count the options of each kind. */
static void
count_choices(const Options *options, int n[N_PATTERN_KINDS])
{
	PatternKind kind;
	const char *pattern;

	memset(n, 0, N_PATTERN_KINDS * sizeof(int));
	for (int i = 0; i < options->n_pg_dump_args; i++)
		if (take_choice(options, &i, &kind, &pattern))
			n[kind]++;
}

bool
compare_selection_has_objects(const Options *options)
{
	int			n[N_PATTERN_KINDS];

	count_choices(options, n);
	if (n[PATTERN_NO_OBJECTS] > 0)
		return false;
	return n[PATTERN_OBJECTS] > 0 ||
		n[PATTERN_TABLE] + n[PATTERN_SCHEMA] + n[PATTERN_EXTENSION] == 0;
}

bool
compare_selection_is_given(const Options *options)
{
	int			n[N_PATTERN_KINDS];
	int			n_all = 0;

	count_choices(options, n);
	for (int kind = 0; kind < N_PATTERN_KINDS; kind++)
		n_all += n[kind];
	return n_all > n[PATTERN_OBJECTS] + n[PATTERN_STRICT];
}

/* ----------
 * Conditions
 * ----------
 */

/* "(false OR ...)": does one of the patterns of this kind match? */
static void
append_matches(PGconn *conn, PQExpBuffer sql, const Options *options,
			   PatternKind wanted, const NameColumns *columns)
{
	bool		is_schema = wanted == PATTERN_SCHEMA || wanted == PATTERN_NO_SCHEMA;
	PatternKind kind;
	const char *pattern;
	PQExpBufferData dbname = buffer_new();
	int			dots;

	appendPQExpBufferStr(sql, "(false");
	for (int i = 0; i < options->n_pg_dump_args; i++)
	{
		if (!take_choice(options, &i, &kind, &pattern) || kind != wanted)
			continue;
		appendPQExpBufferStr(sql, " OR (true ");

		/*
		 * pg_dump does the same, and itself refuses patterns for other
		 * databases.
		 */
		processSQLNamePattern(conn, sql, pattern, true, false,
							  is_schema ? NULL : columns->schema,
							  is_schema ? columns->schema : columns->name,
							  NULL, is_schema ? NULL : columns->visible,
							  &dbname, &dots);
		appendPQExpBufferChar(sql, ')');
	}
	appendPQExpBufferChar(sql, ')');
}

/*
 * Append a condition: are the rows, or the position, of the object with this
 * name selected?
 */
static void
append_chosen(PGconn *conn, PQExpBuffer sql, const Options *options,
			  const NameColumns *columns)
{
	int			n[N_PATTERN_KINDS];

	count_choices(options, n);
	if (n[PATTERN_TABLE] > 0)
		append_matches(conn, sql, options, PATTERN_TABLE, columns);
	else
	{
		if (n[PATTERN_SCHEMA] > 0)
			append_matches(conn, sql, options, PATTERN_SCHEMA, columns);
		else
			appendPQExpBufferStr(sql, "true");
		appendPQExpBufferStr(sql, " AND NOT ");
		append_matches(conn, sql, options, PATTERN_NO_SCHEMA, columns);
	}
	appendPQExpBufferStr(sql, " AND NOT ");
	append_matches(conn, sql, options, PATTERN_NO_TABLE, columns);
	appendPQExpBufferStr(sql, " AND NOT ");
	append_matches(conn, sql, options, PATTERN_NO_DATA, columns);
}

/*
 * An unqualified pattern matches what is visible in the user's own search
 * path, as for pg_dump.  Other sessions of ours have an empty path, so it is
 * reset for this query only.
 */
static PGresult *
query_by_path(PGconn *conn, const char *sql, const char *const *params,
			  int n_params)
{
	PGresult   *res;

	session_command(conn, "RESET search_path");
	res = session_query_params(conn, sql, n_params, params, 0);
	PQclear(session_query(conn, "SELECT pg_catalog.set_config('search_path', '', false)"));
	return res;
}

/* ----------
 * A database without matches
 * ----------
 */
static bool
is_there(PGconn *conn, const Options *options, PatternKind kind)
{
	const NameColumns columns = {
		"n.nspname", "c.relname", "pg_catalog.pg_table_is_visible(c.oid)"
	};
	PQExpBufferData sql = buffer_new();
	PGresult   *res;
	bool		result;

	appendPQExpBufferStr(&sql, "SELECT FROM pg_catalog.pg_namespace n");
	if (kind == PATTERN_TABLE)
		appendPQExpBufferStr(&sql, " JOIN pg_catalog.pg_class c"
							 " ON c.relnamespace OPERATOR(pg_catalog.=) n.oid"
							 " AND c.relkind OPERATOR(pg_catalog.=)"
							 " ANY (ARRAY['r', 'S', 'v', 'm', 'f', 'p'])");
	appendPQExpBufferStr(&sql, " WHERE ");
	append_matches(conn, &sql, options, kind, &columns);
	appendPQExpBufferStr(&sql, " LIMIT 1");
	res = query_by_path(conn, sql.data, NULL, 0);
	result = PQntuples(res) > 0;
	PQclear(res);
	return result;
}

/*
 * Replace the options for tables and schemas by one that excludes everything.
 */
static void
choose_nothing(Options *options, bool with_objects)
{
	const char **args = pg_malloc((options->n_pg_dump_args + 3) * sizeof(char *));
	PatternKind kind;
	const char *pattern;
	int			n = 0;

	for (int i = 0; i < options->n_pg_dump_args; i++)
	{
		int			first = i;

		if (take_choice(options, &i, &kind, &pattern) &&
			(kind == PATTERN_TABLE || kind == PATTERN_SCHEMA))
			continue;
		while (first <= i)
			args[n++] = options->pg_dump_args[first++];
	}
	args[n++] = "--exclude-schema=*";
	if (!with_objects)
		args[n++] = "-B";
	options->pg_dump_args = args;
	options->n_pg_dump_args = n;
}

/*
 * pg_dump fails if no table or schema matches.  If only the other database
 * has matches, this one must be compared as if it were empty, so the options
 * are replaced by ones that select nothing.
 */
void
compare_selection_fit(PGconn *conn, Options *options)
{
	int			n[N_PATTERN_KINDS];

	count_choices(options, n);
	if (n[PATTERN_STRICT] > 0 || n[PATTERN_FILE] > 0)
		return;
	if ((n[PATTERN_TABLE] == 0 || is_there(conn, options, PATTERN_TABLE)) &&
		(n[PATTERN_SCHEMA] == 0 || is_there(conn, options, PATTERN_SCHEMA)))
		return;
	choose_nothing(options, compare_selection_has_objects(options));
}

/* ----------
 * An archive
 * ----------
 */

/* Select the sequences that selected tables own. */
static void
add_owned_sequences(const Toc *toc, bool *chosen)
{
	TocNames   *tables = toc_names_make(toc, "TABLE DATA");
	TocNames   *sequences = toc_names_make(toc, "SEQUENCE SET");

	for (int i = 0; i < toc->n_entries; i++)
	{
		const TocEntry *entry = &toc->entries[i];
		char	   *owner = toc_names_sequence_owner(entry);
		int			table = owner ? toc_names_find(tables, owner) : -1;
		int			sequence = table < 0 || !chosen[table] || !entry->namespace ? -1 :
			toc_names_find(sequences, fmtQualifiedId(entry->namespace, entry->tag));

		if (sequence >= 0)
			chosen[sequence] = true;
		free(owner);
	}
}

/*
 * Leave out tables by properties that only their definitions show: unlogged
 * ones, and those of extensions.
 */
static void
leave_out_by_definition(const Toc *toc, const int n[N_PATTERN_KINDS],
						bool *chosen)
{
	TocNames   *tables = toc_names_make(toc, "TABLE");
	TocNames   *sequences = toc_names_make(toc, "SEQUENCE");

	for (int i = 0; i < toc->n_entries; i++)
	{
		const TocEntry *entry = &toc->entries[i];
		bool		is_table = toc_entry_is_table_data(entry);
		int			definition;
		const char *defn;

		if (!chosen[i])
			continue;
		definition = toc_names_find(is_table ? tables : sequences,
									fmtQualifiedId(entry->namespace, entry->tag));
		defn = definition < 0 ? NULL : toc->entries[definition].defn;
		if (n[PATTERN_NO_UNLOGGED] > 0 && defn &&
			strncmp(defn, "CREATE UNLOGGED ", 16) == 0)
			chosen[i] = false;
		if (n[PATTERN_EXTENSION] + n[PATTERN_NO_EXTENSION] > 0 && definition < 0)
			chosen[i] = false;
	}
}

/*
 * A query with the schemas in $1, and the names in $2.  A pattern without a
 * schema means a table unless a schema that comes earlier in the search path
 * has a table with the same name.
 */
static char *
chosen_query(PGconn *conn, const Options *options)
{
	static const NameColumns columns = {"n.nspname", "n.relname", "n.visible"};
	PQExpBufferData sql = buffer_new();

	appendPQExpBufferStr(&sql,
						 "WITH path (schemas) AS (SELECT pg_catalog.current_schemas(true)),"
						 " named (nspname, relname, no) AS (SELECT * FROM ROWS FROM ("
						 "pg_catalog.unnest($1::pg_catalog.name[]), pg_catalog.unnest($2::pg_catalog.name[]))"
						 " WITH ORDINALITY),"
						 " placed AS (SELECT n.*, pg_catalog.array_position(p.schemas, n.nspname) AS place, p.schemas"
						 " FROM named n CROSS JOIN path p)"
						 " SELECT n.no OPERATOR(pg_catalog.-) 1 FROM (SELECT p.*,"
						 " p.place IS NOT NULL AND NOT EXISTS (SELECT FROM pg_catalog.pg_class c"
						 " JOIN pg_catalog.pg_namespace s ON s.oid OPERATOR(pg_catalog.=) c.relnamespace"
						 " WHERE c.relname OPERATOR(pg_catalog.=) p.relname"
						 " AND pg_catalog.array_position(p.schemas, s.nspname) OPERATOR(pg_catalog.<) p.place)"
						 " AND NOT EXISTS (SELECT FROM placed o WHERE o.relname OPERATOR(pg_catalog.=) p.relname"
						 " AND o.place OPERATOR(pg_catalog.<) p.place) AS visible"
						 " FROM placed p) n WHERE ");
	append_chosen(conn, &sql, options, &columns);
	return sql.data;
}

bool *
compare_selection_of_toc(PGconn *conn, const Options *options, const Toc *toc)
{
	bool	   *chosen;
	int			n[N_PATTERN_KINDS];
	int			n_choices = 0;
	int			n_names = 0;
	int		   *entries;
	char	  **schemas;
	char	  **names;
	const char *params[2];
	PGresult   *res;

	count_choices(options, n);
	for (int kind = 0; kind < N_PATTERN_KINDS; kind++)
		n_choices += n[kind];
	if (n_choices == 0)
		return NULL;
	chosen = pg_malloc0((toc->n_entries + 1) * sizeof(bool));
	if (n[PATTERN_FILE] > 0)
		return chosen;
	entries = pg_malloc((toc->n_entries + 1) * sizeof(int));
	schemas = pg_malloc((toc->n_entries + 1) * sizeof(char *));
	names = pg_malloc((toc->n_entries + 1) * sizeof(char *));
	for (int i = 0; i < toc->n_entries; i++)
	{
		const TocEntry *entry = &toc->entries[i];

		if (entry->namespace == NULL || (!toc_entry_is_table_data(entry) &&
										 !toc_entry_is(entry, "SEQUENCE SET")))
			continue;
		schemas[n_names] = entry->namespace;
		names[n_names] = entry->tag;
		entries[n_names++] = i;
	}
	params[0] = text_array(conn, schemas, n_names);
	params[1] = text_array(conn, names, n_names);
	res = query_by_path(conn, chosen_query(conn, options), params, 2);
	for (int i = 0; i < PQntuples(res); i++)
		chosen[entries[session_number(res, i, 0, 0, n_names - 1)]] = true;
	PQclear(res);
	add_owned_sequences(toc, chosen);
	leave_out_by_definition(toc, n, chosen);
	return chosen;
}
