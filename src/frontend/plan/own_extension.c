/*
 * own_extension.c
 *		Leaves the extension pg_pardump out of archives and copies.
 */
#include "base/fe_compat.h"

#include "base/message.h"
#include "plan/own_extension.h"
#include "session/session.h"

#define EXTENSION_TAG "EXTENSION " PARDUMP_EXTENSION

/*
 * The extension's schema; and its members, by kind and by the name that
 * pg_dump gives them in tags (pg_dump.c: dumpFunc, dumpTable).
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

/* Is it about the object that such entries call by this tag? */
static bool
is_about(const TocEntry *entry, const char *tag)
{
	static const char *const kinds[] = {"ACL", "COMMENT", "SECURITY LABEL", NULL};

	return toc_entry_is_one_of(entry, kinds) && strcmp(entry->tag, tag) == 0;
}

/*
 * The privileges on a member, or on a column of one: pg_dump dumps nothing
 * else of the members (pg_dump.c: checkExtensionMembership).
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
		char	   *tag = psprintf("%s %s", PQgetvalue(members, i, 1), name);
		char	   *column = psprintf("COLUMN %s.", name);
		bool		found = strcmp(entry->tag, tag) == 0 ||
			strncmp(entry->tag, column, strlen(column)) == 0;

		free(column);
		free(tag);
		if (found)
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

/* Does another entry need the extension?  That is a warning. */
static bool
is_needed(const Toc *toc, const TocEntry *extension, const bool *leaves)
{
	for (int i = 0; i < toc->n_entries; i++)
	{
		const TocEntry *entry = &toc->entries[i];

		if (leaves[i] || !depends_on(entry, extension))
			continue;
		pg_log_warning("extension " PARDUMP_EXTENSION " is not left out: %s %s%s%s depends on it",
					   printable(entry->desc),
					   entry->namespace ? printable(entry->namespace) : "",
					   entry->namespace ? "." : "", printable(entry->tag));
		pg_log_warning_hint("The definitions can be restored only on a server that has the files of the extension.");
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
	free(tag);
}

/* New entries get the IDs after those in use. */
static void
update_max_dump_id(Toc *toc)
{
	toc->max_dump_id = 0;
	for (int i = 0; i < toc->n_entries; i++)
	{
		const TocEntry *entry = &toc->entries[i];

		toc->max_dump_id = Max(toc->max_dump_id, entry->dump_id);
		for (int j = 0; j < entry->n_deps; j++)
			toc->max_dump_id = Max(toc->max_dump_id, entry->deps[j]);
	}
}

/*
 * Is there anything that may be about a member?  The definition is as pg_dump
 * writes it (pg_dump.c: dumpExtension); the schema may have another name.
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
		pg_log_info("extension " PARDUMP_EXTENSION " is left out, with %d entries for its comment, privileges and schema",
					toc->n_entries - n - 1);
		toc->n_entries = n;
		update_max_dump_id(toc);
	}
	free(leaves);
	PQclear(members);
	return result;
}
