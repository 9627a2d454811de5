/*
 * target_check.c
 *		Checks the target of a copy or restore, before anything is created and
 *		before rows are loaded.
 *
 * An error after hours is more expensive than a query at the beginning.
 */
#include "base/fe_compat.h"

#include <limits.h>

#include "fe_utils/string_utils.h"

#include "base/buffer.h"
#include "base/units.h"
#include "load/target.h"
#include "load/target_check.h"
#include "process/worker_slots.h"
#include "session/session_settings.h"

/* Messages name this many objects; further ones are only counted. */
#define NAMES_SHOWN 100

/* Messages name this many existing tables. */
#define TABLES_SHOWN 10

/* ----------
 * Names in the entries
 * ----------
 */

/* The names of objects in the cluster that the entries need. */
typedef struct TargetNeeds
{
	SimpleStringList roles;
	SimpleStringList tablespaces;
	SimpleStringList extensions;
} TargetNeeds;

/*
 * Does the object have an owner of its own?  Other objects follow the owner
 * of the object to which they belong
 * (pg_backup_archiver.c:_getObjectDescription).
 */
static bool
has_own_owner(const TocEntry *entry)
{
	static const char *const others[] = {
		"CAST", "CHECK CONSTRAINT", "CONSTRAINT", "DATABASE PROPERTIES",
		"DEFAULT", "FK CONSTRAINT", "INDEX", "POLICY", "ROW SECURITY", "RULE",
		"TRIGGER", "USER MAPPING"
	};

	for (int i = 0; i < (int) lengthof(others); i++)
		if (toc_entry_is(entry, others[i]))
			return false;
	return entry->drop_stmt != NULL && entry->drop_stmt[0] != '\0';
}

/*
 * Add the roles, tablespaces and extensions that pg_restore is going to name
 * (pg_backup_archiver.c:_printTocEntry).  Missing ones would be errors after
 * hours; here they are found before anything is created.
 */
static void
add_needs(TargetNeeds *needs, const TocEntry *entry, const Options *options)
{
	if (!options->no_owner && entry->owner && entry->owner[0] != '\0' &&
		(options->use_session_authorization || has_own_owner(entry)))
		entry_names_add(&needs->roles, entry->owner);
	entry_names_roles(entry, &needs->roles);
	if (!options->no_tablespaces)
	{
		if (entry->tablespace && entry->tablespace[0] != '\0')
			entry_names_add(&needs->tablespaces, entry->tablespace);
		entry_names_tablespaces(entry, &needs->tablespaces);
	}
	if (toc_entry_is(entry, "EXTENSION"))
		entry_names_add(&needs->extensions, entry->tag);
}

/* ----------
 * Objects of the target
 * ----------
 */

/*
 * Use one query for all names of a kind, because an archive may name
 * thousands of roles.
 */
static PGresult *
find_missing(PGconn *conn, const SimpleStringList *names, const char *kind)
{
	char	  **texts = NULL;
	int			n = 0;

	for (SimpleStringListCell *cell = names->head; cell; cell = cell->next)
		*array_add(texts, n) = cell->val;
	return target_ask(conn, kind, text_array(conn, texts, n), NULL);
}

bool
target_has(PGconn *conn, const char *kind, const char *name)
{
	SimpleStringList names = {NULL};

	simple_string_list_append(&names, name);
	return PQntuples(find_missing(conn, &names, kind)) == 0;
}

/*
 * Report missing objects.  kind is for example "role"; error and errors are
 * formats for one and for several; hint is what the user can do.
 */
static void
check_names(PGconn *conn, const SimpleStringList *names, const char *kind,
			const char *error, const char *errors, const char *hint)
{
	PGresult   *res = find_missing(conn, names, kind);
	int			n = PQntuples(res);
	PQExpBufferData list = buffer_new();

	if (n > 0)
	{
		for (int i = 0; i < Min(n, NAMES_SHOWN); i++)
			appendPQExpBuffer(&list, "%s\"%s\"", i > 0 ? ", " : "",
							  printable(PQgetvalue(res, i, ASK_NAME)));
		pg_log_error(ngettext(error, errors, n), n);
		pg_log_error_detail("Names: %s.",
							units_names(list.data, n, NAMES_SHOWN));
		pg_log_error_hint("%s", hint);
	}
}

/*
 * Report an error if not even the workers can connect besides the leader,
 * which is connected already.  Warn if there is no room for the sessions of
 * the index builds, or if the role may not see all sessions.
 */
static void
check_connections(PGconn *conn, int n_workers, int n_builds)
{
	ConnectionsLeft connections = connection_limit_left(conn, true);
	int			left = connections.at_most;
	int			needed = n_workers + n_builds;

	if (connections.at_least >= needed)
		return;
	if (left < n_workers)
	{
		connection_limit_report(PG_LOG_ERROR, conn, &connections, left,
								n_workers);
		connection_limit_hint(PG_LOG_ERROR, conn, &connections, left);
	}
	else if (left >= needed)
		connection_limit_report_hidden(conn, connections.at_least, needed);
	else
	{
		connection_limit_report(PG_LOG_WARNING, conn, &connections, left,
								needed);
		pg_log_warning_detail(ngettext("The run needs %d connection for jobs, and %d for index builds.",
									   "The run needs %d connections for jobs, and %d for index builds.",
									   n_workers),
							  n_workers, n_builds);
		pg_log_warning_hint(CONNECTIONS_BUILDS_HINT);
	}
}

/* Report an existing database.  pg_restore would fail, too. */
static void
check_new_database(PGconn *conn, const char *new_name)
{
	if (!target_has_database(conn, new_name))
		return;
	pg_log_error("database \"%s\" already exists on the target",
				 printable(new_name));
	pg_log_error_hint("Use --clean to drop the database first, or omit --create to use the existing database.");
}

/* Returns the least number of indexes that are built at a time. */
static int
count_builds(const RestoreSchedule *schedule, const Options *options)
{
	int			n_indexes = 0;

	for (int i = 0; i < schedule->toc->n_entries; i++)
		n_indexes += schedule->phases[i] == RESTORE_INDEXES;

	/* With concurrent runs for other databases, only one build is certain. */
	return Min(worker_slots_are_used() ? 1 :
			   options->index_jobs ? (int) options->index_jobs : options->jobs,
			   n_indexes);
}

void
target_check(PGconn *conn, const RestoreSchedule *schedule,
			 const Options *options, int n_jobs,
			 const char *encoding, const char *new_name)
{
	TargetNeeds needs = {{NULL}};

	session_set_encoding(conn, encoding);
	for (int i = 0; i < schedule->toc->n_entries; i++)
	{
		if (schedule->phases[i] != RESTORE_NEVER)
			add_needs(&needs, &schedule->toc->entries[i], options);
	}
	if (options->role)
		entry_names_add(&needs.roles, options->role);
	check_names(conn, &needs.roles, TARGET_ROLE,
				"the target lacks %d required role",
				"the target lacks %d required roles",
				"Create them on the target (\"pg_dumpall --roles-only\" writes the roles of the source), or use --no-owner and --no-privileges.");
	check_names(conn, &needs.tablespaces, TARGET_TABLESPACE,
				"the target lacks %d required tablespace",
				"the target lacks %d required tablespaces",
				"Create them on the target, or use --no-tablespaces.");
	check_names(conn, &needs.extensions, TARGET_ANY_EXTENSION,
				"the target lacks %d required extension",
				"the target lacks %d required extensions",
				"Install them on the target server.");

	/*
	 * With concurrent runs for other databases, only one worker is certain.
	 */
	check_connections(conn, worker_slots_are_used() ? 1 : Min(options->jobs, n_jobs),
					  count_builds(schedule, options));
	toast_compression_check(conn, options->toast_compression);
	if (new_name && !options->clean)
		check_new_database(conn, new_name);
}

/* The OIDs of the objects with these n names (an array), or 0; owned. */
static Oid *
find_names(PGconn *conn, const char *names, int n)
{
	Oid		   *oids = pg_malloc0((n + 1) * sizeof(Oid));
	PGresult   *res = target_ask(conn, TARGET_OIDS, names, NULL);

	session_expect_tables(res, n);
	for (int i = 0; i < n; i++)
		oids[i] = result_oid(res, i, ASK_NUMBER);
	return oids;
}

Oid *
target_find_tables(PGconn *conn, const DumpTables *tables, bool copy_names)
{
	return find_names(conn, dump_tables_name_array(conn, tables, copy_names),
					  tables->n_tables);
}

static void
check_table_names(PGconn *conn, const DumpTables *tables)
{
	PQExpBufferData found = buffer_new();
	int			n_found = 0;

	for (int i = 0; i < tables->n_tables; i++)
	{
		const DumpTable *table = &tables->tables[i];

		if (text_is_convertible(conn, table->name))
			continue;
		if (n_found++ < TABLES_SHOWN)
			units_names_add(&found, table->name);
	}
	if (n_found > 0)
	{
		pg_log_error(ngettext("the name of %d table cannot be converted to the target's encoding, %s",
							  "the names of %d tables cannot be converted to the target's encoding, %s",
							  n_found),
					 n_found, PQparameterStatus(conn, "server_encoding"));
		pg_log_error_detail("Tables: %s.",
							units_names(found.data, n_found, TABLES_SHOWN));
		pg_log_error_hint("Rename the tables, leave them out, or use a target database with another encoding.");
	}
}

/*
 * Report objects that would be created but exist: those of n names with an
 * OID.  error is a format for their number, and detail for their names.
 */
static void
report_existing(const char *error, const char *detail,
				const char *const *names, const Oid *oids, int n,
				const char *hint)
{
	PQExpBufferData found = buffer_new();
	int			n_found = 0;

	for (int i = 0; i < n; i++)
		if (OidIsValid(oids[i]) && n_found++ < TABLES_SHOWN)
			units_names_add(&found, names[i]);
	if (n_found > 0)
	{
		pg_log_error(error, n_found);
		pg_log_error_detail(detail, units_names(found.data, n_found,
												TABLES_SHOWN));
		pg_log_error_hint("%s", hint);
	}
}

void
target_check_tables(PGconn *conn, const DumpTables *tables, bool may_exist)
{
	const char **names;
	Oid		   *oids;

	check_table_names(conn, tables);
	if (may_exist)
		return;
	names = pg_malloc((tables->n_tables + 1) * sizeof(char *));
	oids = target_find_tables(conn, tables, false);
	for (int i = 0; i < tables->n_tables; i++)
	{
		names[i] = tables->tables[i].name;
		if (!tables->tables[i].has_definition)
			oids[i] = InvalidOid;
	}
	report_existing("the target already contains %d of the tables to be created",
					"Tables: %s.", names, oids, tables->n_tables,
					"Use --clean to drop them first, or --data-only to add rows to them.");
}

static const char members_query[] =
"SELECT EXISTS (SELECT FROM pg_catalog.pg_depend d"
" WHERE d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass"
" AND d.objid OPERATOR(pg_catalog.=) t.oid"
" AND d.deptype OPERATOR(pg_catalog.=) 'e'::pg_catalog.\"char\")"
" FROM pg_catalog.unnest($1::pg_catalog.oid[]) WITH ORDINALITY t (oid, no)"
" ORDER BY t.no";

bool *
target_are_of_extensions(PGconn *conn, const Oid *tables, int n)
{
	bool	   *result = pg_malloc((n + 1) * sizeof(bool));
	const char *params[] = {oid_array(tables, n)};
	PGresult   *res = session_query_params(conn, members_query, 1, params, 0);

	for (int i = 0; i < n; i++)
		result[i] = i < PQntuples(res) && result_is_true(res, i, 0);
	return result;
}

/*
 * Tables of extensions whose rows a dump contains if their condition is true
 * for them; and whether a query of the table can run code of another role.
 */
static const char config_query[] =
"SELECT pg_catalog.quote_ident(n.nspname) OPERATOR(pg_catalog.||) '.'"
" OPERATOR(pg_catalog.||) pg_catalog.quote_ident(c.relname),"
" COALESCE(e.extcondition[t.no], ''), r.rolsuper OR r.rolname OPERATOR(pg_catalog.=) CURRENT_USER,"
" e.extname"
" FROM pg_catalog.pg_extension e"
" CROSS JOIN LATERAL pg_catalog.unnest(e.extconfig) WITH ORDINALITY t (oid, no)"
" JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) t.oid"
" JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace"
" JOIN pg_catalog.pg_roles r ON r.oid OPERATOR(pg_catalog.=) c.relowner"
" WHERE c.relkind OPERATOR(pg_catalog.=) 'r'"
" AND ($1::pg_catalog.oid[] IS NULL OR c.oid OPERATOR(pg_catalog.=) ANY ($1::pg_catalog.oid[]))"
" AND pg_catalog.pg_relation_size(c.oid) OPERATOR(pg_catalog.>) 0";

/*
 * Conditions are SQL text of the extensions, which pg_dump also runs, with
 * this search path.  A table that cannot be queried counts as one with rows.
 */
char *
target_extension_rows(PGconn *conn, const char *oids, char **extension)
{
	PGresult   *tables;
	char	   *found = NULL;

	session_command_settings(conn, SESSION_SET("search_path", "") "; "
							 SESSION_SET("row_security", "off"));
	tables = session_query_params(conn, config_query, 1, &oids, 0);
	for (int i = 0; i < PQntuples(tables) && found == NULL; i++)
	{
		const char *name = PQgetvalue(tables, i, 0);
		char	   *sql = psprintf("SELECT EXISTS (SELECT FROM ONLY %s %s)",
								   name, PQgetvalue(tables, i, 1));
		PGresult   *res = NULL;

		if (PQgetvalue(tables, i, 2)[0] == 't')
			res = PQexec(conn, sql);
		if (PQresultStatus(res) != PGRES_TUPLES_OK ||
			PQgetvalue(res, 0, 0)[0] == 't')
		{
			found = pg_strdup(name);
			if (extension)
				*extension = pg_strdup(PQgetvalue(tables, i, 3));
		}
		PQclear(res);
		free(sql);
	}
	PQclear(tables);
	return found;
}

void
target_check_sequences(PGconn *conn, const RestoreSchedule *schedule)
{
	const Toc  *toc = schedule->toc;
	char	  **names = pg_malloc((toc->n_entries + 1) * sizeof(char *));
	Oid		   *oids;
	int			n = 0;

	for (int i = 0; i < toc->n_entries; i++)
		if (toc_entry_is(&toc->entries[i], "SEQUENCE") &&
			schedule->phases[i] != RESTORE_NEVER && toc->entries[i].namespace)
			names[n++] = pg_strdup(fmtQualifiedId(toc->entries[i].namespace,
												  toc->entries[i].tag));
	oids = find_names(conn, text_array(conn, names, n), n);
	report_existing("the target already contains %d of the sequences to be created",
					"Sequences: %s.", (const char *const *) names, oids, n,
					"Use --clean to drop them first.");
}

/* The number of existing large objects in $1. */
static const char objects_query[] =
"SELECT pg_catalog.count(*)::pg_catalog.int4"
" FROM pg_catalog.pg_largeobject_metadata m"
" WHERE m.oid OPERATOR(pg_catalog.=) ANY ($1::pg_catalog.oid[])";

/*
 * The number of those that the role in $2 (the session's if it is NULL) may
 * not remove (be-fsstubs.c:be_lo_unlink).
 */
static const char others_objects_query[] =
"SELECT pg_catalog.count(*)::pg_catalog.int4"
" FROM pg_catalog.pg_largeobject_metadata m"
" JOIN pg_catalog.pg_roles r ON r.rolname OPERATOR(pg_catalog.=)"
" COALESCE($2::pg_catalog.text, CURRENT_USER::pg_catalog.text)::pg_catalog.name"
" WHERE m.oid OPERATOR(pg_catalog.=) ANY ($1::pg_catalog.oid[])"
" AND NOT pg_catalog.pg_has_role(r.oid, m.lomowner, 'USAGE')"
" AND NOT pg_catalog.current_setting('lo_compat_privileges')::pg_catalog.bool";

/*
 * Returns how many of the large objects that the plan's archive creates are
 * found by a query.
 */
static int
count_objects(PGconn *conn, const DumpPlan *plan, const char *query,
			  int n_params, const char *role)
{
	const LargeObjects *objects = plan->objects;
	bool		creates = false;
	int			n = 0;

	for (int i = 0; i < plan->toc->n_entries && !creates; i++)
		creates = toc_entry_makes_large_objects(&plan->toc->entries[i]);
	for (int i = 0; i < objects->n_groups && creates; i++)
	{
		const LargeObjectGroup *group = &objects->groups[i];
		char	   *oids = oid_array(group->oids, group->n_oids);
		const char *params[] = {oids, role};
		PGresult   *res = session_query_params(conn, query, n_params, params, 0);

		n += session_number(res, 0, 0, 0, group->n_oids);
		PQclear(res);
		free(oids);
	}
	return n;
}

int
target_count_objects(PGconn *conn, const DumpPlan *plan)
{
	return count_objects(conn, plan, objects_query, 1, NULL);
}

void
target_objects_hint(const Options *options)
{
	pg_log_error_hint(options->target == NULL ?
					  "Use --clean to drop them and all other objects that will be restored, or --allow-existing to overwrite their contents, as pg_restore does." :
					  options->data_only ?
					  "Drop them on the target with lo_unlink(), or use --no-large-objects." :
					  "Use --no-large-objects to keep them, or --clean to drop them and all other objects that will be copied.");
}

/*
 * Report large objects of other owners: --clean removes large objects one by
 * one, after it has dropped everything else, so it would fail late.
 */
static void
check_owners_of_objects(PGconn *conn, const DumpPlan *plan,
						const Options *options)
{
	int			n = count_objects(conn, plan, others_objects_query, 2,
								  options->role);

	if (n == 0)
		return;
	pg_log_error("--clean cannot drop %d of the large objects that are to be copied",
				 n);
	pg_log_error_detail("Other roles own them on the target.  Large objects of two databases can have the same OID by chance.");
	pg_log_error_hint("Drop them on the target with lo_unlink(), as their owner or as a superuser, or use --no-large-objects.");
}

void
target_check_objects(PGconn *conn, const DumpPlan *plan,
					 const Options *options)
{
	int			n;

	if (options->clean)
	{
		check_owners_of_objects(conn, plan, options);
		return;
	}
	n = target_count_objects(conn, plan);
	if (n == 0)
		return;
	pg_log_error("the target already contains %d of the large objects to be copied",
				 n);
	pg_log_error_detail("Large objects of two databases can have the same OID by chance; a copy would overwrite these.");
	target_objects_hint(options);
}

/*
 * Triggers on the tables, or on their partitions, that fire even if
 * session_replication_role is replica.
 */
static const char firing_query[] =
"SELECT pg_catalog.count(*), pg_catalog.string_agg(pg_catalog.format('%I on %s', g.tgname,"
" g.tgrelid::pg_catalog.regclass), ', ' ORDER BY g.tgname, g.tgrelid)"
" FROM pg_catalog.pg_trigger g"
" WHERE " INSERT_TRIGGER_SQL
" AND g.tgenabled OPERATOR(pg_catalog.=) ANY ('{A,R}'::pg_catalog.\"char\"[])"
" AND (g.tgrelid OPERATOR(pg_catalog.=) ANY ($1::pg_catalog.oid[])"
" OR EXISTS (SELECT FROM pg_catalog.pg_partition_ancestors(g.tgrelid) a"
" WHERE a.relid OPERATOR(pg_catalog.=) ANY ($1::pg_catalog.oid[])))";

void
target_check_triggers(PGconn *conn, const Options *options, const Oid *tables,
					  int n)
{
	const char *params[] = {oid_array(tables, n)};
	PGresult   *res;
	int			n_found;

	if (!options->disable_triggers)
		return;
	res = session_query_params(conn, firing_query, 1, params, 0);
	n_found = session_number(res, 0, 0, 0, INT_MAX);
	if (n_found > 0)
	{
		pg_log_error("--disable-triggers does not disable triggers that are enabled as ALWAYS or REPLICA");
		pg_log_error_detail("Triggers: %s.",
							printable(PQgetvalue(res, 0, 1)));
		pg_fatal_hint("Run ALTER TABLE ... DISABLE TRIGGER for these triggers, load the rows, and then run ALTER TABLE ... ENABLE ALWAYS TRIGGER or ENABLE REPLICA TRIGGER, as before.");
	}
}

/* 3 is TRIGGER_TYPE_ROW and TRIGGER_TYPE_BEFORE (pg_trigger.h). */
static const char skip_query[] =
"SELECT $1::pg_catalog.oid::pg_catalog.regclass FROM pg_catalog.pg_trigger g"
" WHERE " INSERT_TRIGGER_SQL
" AND (g.tgtype OPERATOR(pg_catalog.&) 3::pg_catalog.int2) OPERATOR(pg_catalog.=) 3"
" AND g.tgenabled OPERATOR(pg_catalog.=) ANY ("
"CASE pg_catalog.current_setting('session_replication_role')"
" WHEN 'replica' THEN '{A,R}'::pg_catalog.\"char\"[] ELSE '{A,O}'::pg_catalog.\"char\"[] END)"
" AND (g.tgrelid OPERATOR(pg_catalog.=) $1::pg_catalog.oid"
" OR EXISTS (SELECT FROM pg_catalog.pg_partition_ancestors(g.tgrelid) a"
" WHERE a.relid OPERATOR(pg_catalog.=) $1::pg_catalog.oid))"
" LIMIT 1";

bool
target_may_skip_rows(PGconn *conn, Oid table, uint64 sent, uint64 taken)
{
	const char *params[] = {psprintf("%u", table)};
	PGresult   *res = session_query_params(conn, skip_query, 1, params, 0);

	if (PQntuples(res) == 0)
		return false;
	pg_log_warning(ngettext("loaded " UINT64_FORMAT " row of table %s, but the target stored " UINT64_FORMAT,
							"loaded " UINT64_FORMAT " rows of table %s, but the target stored " UINT64_FORMAT,
							sent),
				   sent, printable(PQgetvalue(res, 0, 0)), taken);
	pg_log_warning_detail("A BEFORE INSERT trigger of the table can skip rows, or insert them into another table.");
	pg_log_warning_hint("If the rows are needed, disable the trigger, truncate the table, and load its rows again with --data-only and --table.");
	return true;
}
