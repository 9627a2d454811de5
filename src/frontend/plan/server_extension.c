/*
 * server_extension.c
 *		Finds the extension, checks whether it can be trusted, and leaves it
 *		out of archives.
 *
 * A call of a function is resolved again for every chunk, in the current
 * catalogs, and a function cannot be called by its OID.  So these rules
 * guarantee that no other role's code is called:
 *
 * 1. Schema, extension, functions and table belong to trusted roles, and only
 *    these may create objects in the schema.  So no other role can drop,
 *    rename or replace them, or create a function that fits a call as well.
 *
 * 2. A trusted role may drop the extension.  Then any role that may create a
 *    schema can use its name.  DROP EXTENSION takes an exclusive lock on
 *    every table of an extension before it removes anything (dependency.c:
 *    AcquireDeletionLock), but no useful lock on functions.  Therefore the
 *    extension contains a table, which all sessions lock.
 *
 * 3. A snapshot shows older catalogs, but names are looked up in the current
 *    ones (as by to_regprocedure()).  So the check comes before the snapshot.
 *    If the objects were dropped since, and created again by others, their
 *    OIDs differ: every session compares the OIDs after it has got the lock.
 */
#include "base/fe_compat.h"

#include "base/buffer.h"
#include "plan/dump_table.h"
#include "plan/server_extension.h"
#include "session/session_lost.h"
#include "session/table_lock.h"

/* ----------
 * Leaving the extension out of archives and copies.
 * ----------
 */

#define EXTENSION_TAG "EXTENSION " PARDUMP_EXTENSION

/*
 * The extension's schema; and its members with the kinds and names that
 * pg_dump uses in tags (pg_dump.c: dumpFunc, dumpTable).
 */
static const char members_query[] =
"SELECT n.nspname, m.kind, m.name"
" FROM pg_catalog.pg_extension x"
" JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) x.extnamespace"
" LEFT JOIN (SELECT d.refobjid, 'FUNCTION'::pg_catalog.text AS kind, pg_catalog.format("
"'%I(%s)'::pg_catalog.text, p.proname, pg_catalog.pg_get_function_identity_arguments(p.oid)) AS name"
" FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_proc p ON p.oid OPERATOR(pg_catalog.=) d.objid"
" WHERE d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_proc'::pg_catalog.regclass"
" AND d.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_extension'::pg_catalog.regclass"
" AND d.deptype OPERATOR(pg_catalog.=) 'e'::pg_catalog.\"char\""
" UNION ALL SELECT d.refobjid, 'TABLE', pg_catalog.quote_ident(c.relname::pg_catalog.text)"
" FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) d.objid"
" WHERE d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass"
" AND d.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_extension'::pg_catalog.regclass"
" AND d.deptype OPERATOR(pg_catalog.=) 'e'::pg_catalog.\"char\") m"
" ON m.refobjid OPERATOR(pg_catalog.=) x.oid"
" WHERE x.extname OPERATOR(pg_catalog.=) '" PARDUMP_EXTENSION "'::pg_catalog.name";

/*
 * Does the entry (a comment, for example) belong to the object that such
 * entries call by this tag?
 */
static bool
is_about(const TocEntry *entry, const char *tag)
{
	static const char *const kinds[] = {"ACL", "COMMENT", "SECURITY LABEL", NULL};

	return toc_entry_is_one_of(entry, kinds) && strcmp(entry->tag, tag) == 0;
}

/*
 * Does the entry contain privileges on a member, or on a column of one?
 * pg_dump dumps nothing else about members (pg_dump.c:
 * checkExtensionMembership).
 */
static bool
is_about_member(const TocEntry *entry, const PGresult *members)
{
	if (!toc_entry_is(entry, "ACL") || entry->namespace == NULL ||
		strcmp(entry->namespace, PQgetvalue(members, 0, 0)) != 0)
		return false;
	for (int i = 0; i < PQntuples(members); i++)
	{
		const char *name = PQgetvalue(members, i, 2);

		if (strcmp(entry->tag,
				   psprintf("%s %s", PQgetvalue(members, i, 1), name)) == 0 ||
			text_after(entry->tag, psprintf("COLUMN %s.", name)))
			return true;
	}
	return false;
}

static bool
depends_on(const TocEntry *entry, const TocEntry *needed)
{
	for (int i = 0; i < entry->n_deps; i++)
		if (entry->deps[i] == needed->dump_id)
			return true;
	return false;
}

static const TocEntry *
find_entry(const Toc *toc, const char *desc, const char *tag)
{
	for (int i = 0; i < toc->n_entries; i++)
		if (toc_entry_is(&toc->entries[i], desc) &&
			strcmp(toc->entries[i].tag, tag) == 0)
			return &toc->entries[i];
	return NULL;
}

/* Does another entry need the extension?  If so, warn. */
static bool
is_needed(const Toc *toc, const TocEntry *extension, const bool *leaves)
{
	for (int i = 0; i < toc->n_entries; i++)
	{
		const TocEntry *entry = &toc->entries[i];

		if (leaves[i] || !depends_on(entry, extension))
			continue;
		pg_log_warning("extension " PARDUMP_EXTENSION " is included in the archive, because another object depends on it");
		if (entry->namespace)
			pg_log_warning_detail("The object is %s %s.%s.",
								  printable(entry->desc),
								  printable(entry->namespace),
								  printable(entry->tag));
		else
			pg_log_warning_detail("The object is %s %s.",
								  printable(entry->desc), printable(entry->tag));
		pg_log_warning_detail("The archive can be restored only on a server where the files of the extension are installed.");
		pg_log_warning_hint("Install the files of the extension on the server before a restore.");
		return true;
	}
	return false;
}

/* Leave out the schema, too, unless another entry is in it or needs it. */
static void
leave_out_schema(const Toc *toc, const char *name, bool *leaves)
{
	const TocEntry *schema = find_entry(toc, "SCHEMA", name);
	char	   *tag = psprintf("SCHEMA %s", name);
	bool		is_free = schema != NULL;

	for (int i = 0; i < toc->n_entries && is_free; i++)
	{
		const TocEntry *entry = &toc->entries[i];

		is_free = leaves[i] || entry == schema || is_about(entry, tag) ||
			(!depends_on(entry, schema) &&
			 (entry->namespace == NULL || strcmp(entry->namespace, name) != 0));
	}
	for (int i = 0; i < toc->n_entries && is_free; i++)
		if (&toc->entries[i] == schema || is_about(&toc->entries[i], tag))
			leaves[i] = true;
}

/*
 * Is there an entry that may belong to a member?  The extension's definition
 * has pg_dump's form (pg_dump.c: dumpExtension); its schema may have another
 * name.
 */
static bool
may_have_members(const Toc *toc, const TocEntry *extension)
{
	if (strstr(extension->defn, " WITH SCHEMA " PARDUMP_SCHEMA ";") == NULL)
		return true;
	for (int i = 0; i < toc->n_entries; i++)
	{
		const TocEntry *entry = &toc->entries[i];

		if (toc_entry_is(entry, "ACL") && entry->namespace &&
			strcmp(entry->namespace, PARDUMP_SCHEMA) == 0)
			return true;
	}
	return false;
}

bool
own_extension_leave_out(PGconn *conn, const Options *options, Toc *toc)
{
	const TocEntry *extension = find_entry(toc, "EXTENSION", PARDUMP_EXTENSION);
	const char *schema = PARDUMP_SCHEMA;
	PGresult   *members = NULL;
	bool	   *leaves;
	bool		result;
	int			n = 0;

	if (extension == NULL || options->with_pardump_extension ||
		options->chooses_extensions)
		return false;
	if (may_have_members(toc, extension))
	{
		members = session_query(conn, members_query);
		schema = PQntuples(members) > 0 ? PQgetvalue(members, 0, 0) : NULL;
	}

	/*
	 * First mark the entries, then check whether other entries depend on
	 * them.  So either all of them are removed or none.
	 */
	leaves = pg_malloc0(toc->n_entries * sizeof(bool));
	for (int i = 0; i < toc->n_entries; i++)
		leaves[i] = &toc->entries[i] == extension ||
			is_about(&toc->entries[i], EXTENSION_TAG) ||
			(PQntuples(members) > 0 && is_about_member(&toc->entries[i], members));
	result = !is_needed(toc, extension, leaves);
	if (result)
	{
		if (schema)
			leave_out_schema(toc, schema, leaves);
		for (int i = 0; i < toc->n_entries; i++)
			if (!leaves[i])
				toc->entries[n++] = toc->entries[i];
		pg_log_info("excluding extension " PARDUMP_EXTENSION ", its comment, privileges and schema (entries: %d)",
					toc->n_entries - n);
		toc->n_entries = n;
		/* New entries will get the IDs after the remaining ones. */
		toc->max_dump_id = 0;
		for (int i = 0; i < toc->n_entries; i++)
		{
			const TocEntry *entry = &toc->entries[i];

			toc->max_dump_id = Max(toc->max_dump_id, entry->dump_id);
			for (int j = 0; j < entry->n_deps; j++)
				toc->max_dump_id = Max(toc->max_dump_id, entry->deps[j]);
		}
	}
	return result;
}

/* ----------
 * Finding and checking the extension.
 * ----------
 */

#define LOCK_TABLE PARDUMP_SCHEMA ".pg_pardump_lock"

/*
 * The functions that this program calls: the signature for to_regprocedure(),
 * pg_proc.proname, and a bit for each ServerExtensionUse that calls it.
 */
#define FUNCTIONS_SQL \
"(VALUES (1, '" PARDUMP_CHUNKS "(pg_catalog.regclass, pg_catalog.int8)'::pg_catalog.text," \
" 'pg_pardump_chunks'::pg_catalog.name, 1)," \
" (2, '" PARDUMP_READ "(pg_catalog.regclass, pg_catalog.name[], pg_catalog.int8," \
" pg_catalog.int8, pg_catalog.text, pg_catalog.text)', 'pg_pardump_read', 1)," \
" (3, '" PARDUMP_LAST_READ "()', 'pg_pardump_last_read', 1)," \
" (4, '" PARDUMP_RAW_REASON "(pg_catalog.regclass, pg_catalog.bool)'," \
" 'pg_pardump_raw_reason', 3)," \
" (5, '" PARDUMP_LOAD_TUPLES "(pg_catalog.regclass, pg_catalog.bytea)'," \
" 'pg_pardump_load_tuples', 2)," \
" (6, '" PARDUMP_FINGERPRINT "(pg_catalog.regclass, pg_catalog.name[], pg_catalog.int8," \
" pg_catalog.int8, pg_catalog.bytea, pg_catalog.text, pg_catalog.bytea)'," \
" 'pg_pardump_fingerprint', 1)," \
" (7, '" PARDUMP_DEFINITION "(pg_catalog.regclass, pg_catalog.name[])'," \
" 'pg_pardump_definition', 1)," \
" (8, '" PARDUMP_FINGERPRINT_READS "(pg_catalog.bytea, pg_catalog.text)'," \
" 'pg_pardump_fingerprint_reads', 1)," \
" (9, '" PARDUMP_LAST_FINGERPRINT "()', 'pg_pardump_last_fingerprint', 1)," \
" (10, '" PARDUMP_READ_FILES "(pg_catalog.bytea[], pg_catalog.int8[], pg_catalog.int8[]," \
" pg_catalog.bytea[], pg_catalog.int4[], pg_catalog.bool[], pg_catalog.int8[]," \
" pg_catalog.pg_lsn, pg_catalog.text)', 'pg_pardump_read_files', 4)," \
" (11, '" PARDUMP_LAST_FILES "()', 'pg_pardump_last_files', 4)," \
" (12, '" PARDUMP_FILE_TYPE "(pg_catalog.text)', 'pg_pardump_file_type', 4)," \
" (13, '" PARDUMP_EXPORTED_SNAPSHOT "(pg_catalog.text)'," \
" 'pg_pardump_exported_snapshot', 1)," \
" (14, '" PARDUMP_ADOPT_SNAPSHOT "(pg_catalog.text)'," \
" 'pg_pardump_adopt_snapshot', 8))" \
" f (no, signature, name, uses)"
#define N_FUNCTIONS 14

/* The number of these functions that are called, by ServerExtensionUse. */
static const int n_called[] = {9, 2, 3, 1};

/* The bit of a ServerExtensionUse, as a parameter. */
static const char *const use_bits[] = {"1", "2", "4", "8"};

/*
 * The extension: its version and schema; the untrusted roles that own it, own
 * the schema, or may create objects in the schema ("public", which cannot be
 * the name of a role, stands for PUBLIC); and whether this role may use the
 * schema.
 */
#define EXTENSION_SQL \
"extension (oid, version, schema, owner, schema_owner, creator, is_usable) AS" \
" (SELECT x.oid, x.extversion, n.nspname," \
" (SELECT pg_catalog.pg_get_userbyid(x.extowner)" \
" WHERE x.extowner NOT IN (SELECT t.oid FROM trusted t))," \
" (SELECT pg_catalog.pg_get_userbyid(n.nspowner)" \
" WHERE n.nspowner NOT IN (SELECT t.oid FROM trusted t))," \
" (SELECT CASE WHEN a.grantee OPERATOR(pg_catalog.<>) 0::pg_catalog.oid" \
" THEN pg_catalog.pg_get_userbyid(a.grantee) ELSE 'public'::pg_catalog.name END" \
" FROM pg_catalog.aclexplode(COALESCE(n.nspacl," \
" pg_catalog.acldefault('n'::pg_catalog.\"char\", n.nspowner))) a" \
" WHERE a.privilege_type OPERATOR(pg_catalog.=) 'CREATE'::pg_catalog.text" \
" AND a.grantee NOT IN (SELECT t.oid FROM trusted t)" \
" ORDER BY a.grantee LIMIT 1)," \
" pg_catalog.has_schema_privilege(n.oid, 'USAGE'::pg_catalog.text)" \
" FROM pg_catalog.pg_extension x" \
" JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) x.extnamespace" \
" WHERE x.extname OPERATOR(pg_catalog.=) 'pg_pardump'::pg_catalog.name)"

/* Look up names in the schema only if this cannot fail. */
#define IF_IN_SCHEMA(name) \
"CASE WHEN x.is_usable AND x.schema OPERATOR(pg_catalog.=)" \
" '" PARDUMP_SCHEMA "'::pg_catalog.name THEN " name " END"

/*
 * The extension in each row, followed by the functions that are called for a
 * use ($1), and the table, as far as they exist: name, OID, whether the
 * object belongs to the extension and is unchanged, an untrusted owner,
 * whether this role may use it, and the function's number.  There is no row
 * without the extension.
 */
static const char find_query[] =
"WITH " TRUSTED_SQL ", " EXTENSION_SQL
", part (no, name, class, oid, owner, is_as_made, is_usable) AS"
" (SELECT f.no, f.name, 'pg_catalog.pg_proc'::pg_catalog.regclass, p.oid, p.proowner,"
" l.lanname OPERATOR(pg_catalog.=) 'c'::pg_catalog.name"
" AND p.prosrc OPERATOR(pg_catalog.=) f.name::pg_catalog.text"
" AND p.probin OPERATOR(pg_catalog.=) '$libdir/pg_pardump',"
" pg_catalog.has_function_privilege(p.oid, 'EXECUTE'::pg_catalog.text)"
" FROM extension x, " FUNCTIONS_SQL ", pg_catalog.pg_proc p, pg_catalog.pg_language l"
" WHERE p.oid OPERATOR(pg_catalog.=) pg_catalog.to_regprocedure("
IF_IN_SCHEMA("f.signature") ")"
" AND l.oid OPERATOR(pg_catalog.=) p.prolang"
" AND (f.uses OPERATOR(pg_catalog.&) $1::pg_catalog.int4) OPERATOR(pg_catalog.<>) 0"
" UNION ALL"
" SELECT 15, c.relname, 'pg_catalog.pg_class'::pg_catalog.regclass, c.oid, c.relowner,"
" c.relkind OPERATOR(pg_catalog.=) 'r'::pg_catalog.\"char\","
" pg_catalog.has_table_privilege(c.oid, 'SELECT'::pg_catalog.text)"
" FROM extension x, pg_catalog.pg_class c WHERE c.oid OPERATOR(pg_catalog.=)"
" pg_catalog.to_regclass(" IF_IN_SCHEMA("'" LOCK_TABLE "'::pg_catalog.text") "))"
" SELECT x.version, x.schema, x.owner, x.schema_owner, x.creator, x.is_usable,"
" p.name, p.oid, p.is_as_made IS TRUE AND EXISTS"
" (SELECT FROM pg_catalog.pg_depend d"
" WHERE d.classid OPERATOR(pg_catalog.=) p.class"
" AND d.objid OPERATOR(pg_catalog.=) p.oid"
" AND d.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_extension'::pg_catalog.regclass"
" AND d.refobjid OPERATOR(pg_catalog.=) x.oid"
" AND d.deptype OPERATOR(pg_catalog.=) 'e'::pg_catalog.\"char\"),"
" (SELECT pg_catalog.pg_get_userbyid(p.owner)"
" WHERE p.owner NOT IN (SELECT t.oid FROM trusted t)), p.is_usable, p.no"
" FROM extension x LEFT JOIN part p ON true ORDER BY p.no";

/* Columns of find_query. */
enum
{
	EXTENSION_VERSION,
	EXTENSION_SCHEMA,
	EXTENSION_OWNER,
	SCHEMA_OWNER,
	SCHEMA_CREATOR,
	SCHEMA_IS_USABLE,
	PART_NAME,
	PART_OID,
	PART_IS_EXTENSIONS,
	PART_OWNER,
	PART_IS_USABLE,
	PART_NO
};

/*
 * The query counts how many of the functions' names lead to these OIDs, if
 * the session has a lock on the extension's table.
 */
static const char same_query[] =
"SELECT pg_catalog.count(*) FROM " FUNCTIONS_SQL
" JOIN pg_catalog.unnest($1::pg_catalog.oid[]) WITH ORDINALITY o (oid, no)"
" ON o.no OPERATOR(pg_catalog.=) f.no"
" AND o.oid OPERATOR(pg_catalog.=) pg_catalog.to_regprocedure(f.signature)"
" WHERE EXISTS (SELECT FROM pg_catalog.pg_locks l"
" WHERE l.pid OPERATOR(pg_catalog.=) pg_catalog.pg_backend_pid()"
" AND l.locktype OPERATOR(pg_catalog.=) 'relation'::pg_catalog.text"
" AND l.relation OPERATOR(pg_catalog.=) $2::pg_catalog.oid AND l.granted)";

/* ----------
 * Does the extension exist, and can it be trusted?
 * ----------
 */

/* Returns why the extension cannot be used; NULL if no reason is known. */
static const char *
why_missing(const PGresult *res)
{
	if (PQntuples(res) == 0)
		return "the database has no extension pg_pardump";
	if (strcmp(PQgetvalue(res, 0, EXTENSION_VERSION), PARDUMP_EXTENSION_VERSION) != 0)
		return psprintf("extension pg_pardump has version %s, not %s",
						printable(PQgetvalue(res, 0, EXTENSION_VERSION)),
						PARDUMP_EXTENSION_VERSION);
	if (strcmp(PQgetvalue(res, 0, EXTENSION_SCHEMA), PARDUMP_SCHEMA) != 0)
		return "extension pg_pardump is not in the schema " PARDUMP_SCHEMA;
	if (!PQgetisnull(res, 0, EXTENSION_OWNER))
		return psprintf("extension pg_pardump is owned by role \"%s\"",
						printable(PQgetvalue(res, 0, EXTENSION_OWNER)));
	if (!PQgetisnull(res, 0, SCHEMA_OWNER))
		return psprintf("the schema of extension pg_pardump is owned by role \"%s\"",
						printable(PQgetvalue(res, 0, SCHEMA_OWNER)));
	if (strcmp(PQgetvalue(res, 0, SCHEMA_CREATOR), "public") == 0)
		return "every role may create objects in the schema of extension pg_pardump";
	if (!PQgetisnull(res, 0, SCHEMA_CREATOR))
		return psprintf("role \"%s\" may create objects in the schema of extension pg_pardump",
						printable(PQgetvalue(res, 0, SCHEMA_CREATOR)));
	if (!result_is_true(res, 0, SCHEMA_IS_USABLE))
		return "the role may not use extension pg_pardump";
	return NULL;
}

static bool
is_older(const char *version)
{
	int			major;
	int			minor;
	int			own_major;
	int			own_minor;

	if (sscanf(version, "%d.%d", &major, &minor) != 2 ||
		sscanf(PARDUMP_EXTENSION_VERSION, "%d.%d", &own_major, &own_minor) != 2)
		return false;
	return major < own_major || (major == own_major && minor < own_minor);
}

/*
 * Returns why the extension's functions or its table, which may be missing,
 * cannot be used; NULL if they can.
 */
static const char *
why_not_used(const ServerExtension *extension, const PGresult *res)
{
	for (int i = 0; i < PQntuples(res); i++)
	{
		const char *name = PQgetvalue(res, i, PART_NAME);

		if (PQgetisnull(res, i, PART_NAME))
			continue;
		if (!result_is_true(res, i, PART_IS_EXTENSIONS))
			return psprintf("object %s does not belong to extension pg_pardump",
							name);
		if (!PQgetisnull(res, i, PART_OWNER))
			return psprintf("object %s of extension pg_pardump is owned by role \"%s\"",
							name, printable(PQgetvalue(res, i, PART_OWNER)));
		if (!result_is_true(res, i, PART_IS_USABLE))
			return "the role may not use extension pg_pardump";
	}
	if (PQntuples(res) != n_called[extension->use] + 1)
		return "extension pg_pardump is incomplete";
	return NULL;
}

/* Note the current OIDs of the names, to compare them later. */
static void
note_parts(ServerExtension *extension, const PGresult *res)
{
	PQExpBufferData oids = buffer_new();
	int			row = 0;

	for (int no = 1; no <= N_FUNCTIONS; no++)
	{
		bool		is_called = atoi(PQgetvalue(res, row, PART_NO)) == no;

		appendPQExpBuffer(&oids, "%c%s", no == 1 ? '{' : ',',
						  is_called ? PQgetvalue(res, row, PART_OID) : "0");
		row += is_called ? 1 : 0;
	}
	appendPQExpBufferChar(&oids, '}');
	extension->functions = oids.data;
	extension->lock_table = pg_strdup(PQgetvalue(res, row, PART_OID));
}

/*
 * Report a missing extension.  On a target, the effects are reported for each
 * table instead.
 */
static void
report_missing(const ServerExtension *extension)
{
	if (extension->missing == NULL)
		return;
	if (extension->use == EXTENSION_READS)
		pg_log_info("splitting tables by blocks and reading them with COPY");
	else if (extension->use == EXTENSION_READS_FILES)
		pg_log_info("reading files with SQL");
	else
		return;
	pg_log_info_detail("%s", message_sentence(extension->missing));
}

ServerExtension *
server_extension_find(PGconn *conn, const Options *options,
					  ServerExtensionUse use)
{
	ServerExtension *extension = pg_malloc0(sizeof(ServerExtension));
	PGresult   *res;

	extension->use = use;
	if (options->no_extension)
	{
		extension->missing = "option --no-extension was specified";
		return extension;
	}
	res = session_query_params(conn, find_query, 1, &use_bits[use], 0);
	extension->is_there = PQntuples(res) > 0;
	extension->is_older = extension->is_there &&
		is_older(PQgetvalue(res, 0, EXTENSION_VERSION));
	extension->missing = why_missing(res);
	if (extension->missing == NULL)
		extension->missing = why_not_used(extension, res);
	if (extension->missing == NULL)
		note_parts(extension, res);
	report_missing(extension);
	return extension;
}

/* ----------
 * Holding the extension
 * ----------
 */

/*
 * Do the names still lead to the checked objects, and does the session have
 * the lock?
 */
static bool
is_held(PGconn *conn, const ServerExtension *extension)
{
	const char *params[] = {extension->functions, extension->lock_table};
	PGresult   *res = session_query_params(conn, same_query, 2, params, 0);

	return atoi(PQgetvalue(res, 0, 0)) == n_called[extension->use];
}

void
server_extension_hold(PGconn *conn, ServerExtension *extension)
{
	static const char lock[] =
		"LOCK TABLE ONLY " LOCK_TABLE " IN ACCESS SHARE MODE NOWAIT";
	PGresult   *res;

	if (extension->missing)
		return;

	/*
	 * The lock may fail while an administrator drops or updates the
	 * extension.  Then the run reads with SQL, in the same transaction.
	 */
	session_command(conn, SESSION_SAVEPOINT);
	res = session_exec(conn, lock);
	if (session_refused(conn, res, lock))
	{
		extension->missing = "extension pg_pardump is being dropped, or changed";
		session_command(conn, SESSION_ROLLBACK_TO);
	}
	session_command(conn, SESSION_RELEASE);
	if (extension->missing == NULL && !is_held(conn, extension))
		extension->missing = "extension pg_pardump was replaced while the run started";
	report_missing(extension);
}

void
server_extension_hold_too(PGconn *conn, const ServerExtension *extension,
						  int wait_ms)
{
	char	   *name = LOCK_TABLE;

	if (extension->missing)
		return;

	/*
	 * Other sessions cannot do without it: chunks were planned, and jobs
	 * distributed, for the extension.
	 */
	table_lock_take(conn, &name, 1, wait_ms);
	if (is_held(conn, extension))
		return;
	pg_log_error("extension pg_pardump was replaced during the run");
	pg_fatal_hint("Run the same command again.");
}
