/*
 * object_groups.c
 *		Takes groups of large objects apart, and writes their statements.
 */
#include "base/fe_compat.h"

#include "base/message.h"
#include "definitions/object_groups.h"

#define DIGITS "0123456789"

#define CREATE_OBJECT "SELECT pg_catalog.lo_create('"

/* What an ACL's statement has before an OID. */
static const char object_words[] = "LARGE OBJECT ";

/* ----------
 * Parts
 * ----------
 */

/* The group that the entry is, or has privileges on; else NULL. */
static const TocEntry *
find_group(const TocEntry *entry, const TocEntry *const *by_id,
		   int max_dump_id)
{
	const TocEntry *group = NULL;

	if (toc_entry_is(entry, "BLOB METADATA"))
		return entry;
	if (!toc_entry_is_group_privilege(entry))
		return NULL;
	if (entry->n_deps > 0 && entry->deps[0] > 0 && entry->deps[0] <= max_dump_id)
		group = by_id[entry->deps[0]];
	if (group == NULL || !toc_entry_is(group, "BLOB METADATA") ||
		group->defn == NULL)
		pg_fatal("the archive's table of contents is damaged: there are no large objects for the privileges of \"%s\"",
				 printable(entry->tag));
	return group;
}

/* Behind the line, which has an OID. */
static const char *
skip_oid(const TocEntry *group, const char *line)
{
	size_t		len = strspn(line, DIGITS);

	if (len == 0 || len > 10 || line[len] != '\n')
		pg_fatal("the archive's table of contents is damaged: \"%s\" is no list of large objects",
				 printable(group->tag));
	return line + len + 1;
}

/* Append the parts; how many entries there are then. */
static int
add_parts(ScriptEntry *entries, int n, const ScriptEntry *whole,
		  const TocEntry *group)
{
	const char *line = group->defn;

	for (int part = 0; *line; part++)
	{
		ScriptEntry *added = &entries[n++];

		*added = *whole;
		added->part = part;
		added->oids = line;
		while (*line && added->n_oids < OBJECT_GROUPS_PART)
		{
			line = skip_oid(group, line);
			added->n_oids++;
		}
	}
	return n;
}

/* How many entries it may come to. */
static int
count_parts(const TocEntry *group)
{
	int			n_lines = 0;

	for (const char *p = group->defn; *p; p++)
		n_lines += *p == '\n';
	return n_lines / OBJECT_GROUPS_PART + 1;
}

void
object_groups_divide(Script *script, const Toc *toc)
{
	const TocEntry **by_id = toc_entries_by_id(toc);
	const TocEntry **groups = pg_malloc((script->n_entries + 1) * sizeof(TocEntry *));
	ScriptEntry *entries;
	int			space = 1;
	int			n = 0;

	for (int i = 0; i < script->n_entries; i++)
	{
		groups[i] = find_group(script->entries[i].entry, by_id,
							   toc->max_dump_id);
		space += groups[i] ? count_parts(groups[i]) : 1;
	}
	entries = pg_malloc(space * sizeof(ScriptEntry));
	for (int i = 0; i < script->n_entries; i++)
	{
		if (groups[i])
			n = add_parts(entries, n, &script->entries[i], groups[i]);
		else
			entries[n++] = script->entries[i];
	}
	free(script->entries);
	script->entries = entries;
	script->n_entries = n;
	free(groups);
	free(by_id);
}

/* ----------
 * Statements
 * ----------
 */

/* A statement for each OID of these lines, around it; returns how many. */
static int
write_for_each(PQExpBuffer text, const char *oids, int n_oids,
			   const char *before, int before_len,
			   const char *after, int after_len)
{
	for (int i = 0; i < n_oids; i++)
	{
		int			len = strspn(oids, DIGITS);

		appendBinaryPQExpBuffer(text, before, before_len);
		appendBinaryPQExpBuffer(text, oids, len);
		appendBinaryPQExpBuffer(text, after, after_len);
		appendPQExpBufferChar(text, '\0');
		oids += len + 1;
	}
	return n_oids;
}

static int
write_around(PQExpBuffer text, const char *oids, int n_oids,
			 const char *before, const char *after)
{
	return write_for_each(text, oids, n_oids, before, strlen(before), after,
						  strlen(after));
}

/* pg_backup_db.c:DropLOIfExists, and what pg_dump writes of one object. */
static int
write_drops(PQExpBuffer text, const char *oids, int n_oids, bool if_exists)
{
	if (if_exists)
		return write_around(text, oids, n_oids,
							"SELECT pg_catalog.lo_unlink(oid) FROM pg_catalog.pg_largeobject_metadata WHERE oid = '",
							"';");
	return write_around(text, oids, n_oids, "SELECT pg_catalog.lo_unlink('", "');");
}

/* What gives a group its owner is the script's, of an OID that is none. */
static int
write_owners(PQExpBuffer text, const ScriptEntry *entry)
{
	static const char model[] = "ALTER LARGE OBJECT " SCRIPT_GROUP_OID;
	int			oid_at = strlen(model) - strlen(SCRIPT_GROUP_OID);
	int			n = 0;

	for (int i = 0; i < entry->n_after; i++)
	{
		const char *statement = entry->after[i];

		if (strncmp(statement, model, strlen(model)) != 0)
			pg_fatal("could not read the script that pg_restore writes: %s",
					 "a large object is not altered as expected");
		n += write_for_each(text, entry->oids, entry->n_oids,
							statement, oid_at, statement + strlen(model),
							strlen(statement + strlen(model)));
	}
	return n;
}

/*
 * The end of the statement at p, its semicolon or a zero byte; *oid is where
 * the OID in it begins, if it has one.  Only names are quoted.
 */
static const char *
scan_privilege(const char *p, const char **oid)
{
	bool		quoted = false;

	*oid = NULL;
	for (; *p && (quoted || *p != ';'); p++)
	{
		if (*p == '"')
			quoted = !quoted;
		if (!quoted && *oid == NULL &&
			strncmp(p, object_words, strlen(object_words)) == 0 &&
			strspn(p + strlen(object_words), DIGITS) > 0)
			*oid = p + strlen(object_words);
	}
	return p;
}

/* Privileges of one object, for each. */
static int
write_privileges(PQExpBuffer text, const ScriptEntry *entry)
{
	const char *p = entry->entry->defn + strspn(entry->entry->defn, " \n");
	int			n = 0;

	while (*p)
	{
		const char *oid;
		const char *end = scan_privilege(p, &oid);

		if (*end == ';')
			end++;
		if (oid)
		{
			const char *rest = oid + strspn(oid, DIGITS);

			n += write_for_each(text, entry->oids, entry->n_oids, p, oid - p,
								rest, end - rest);
		}
		else
		{
			appendBinaryPQExpBuffer(text, p, end - p);
			appendPQExpBufferChar(text, '\0');
			n++;
		}
		p = end + strspn(end, " \n");
	}
	return n;
}

int
object_groups_write(const ScriptEntry *entry, const Options *options,
					PQExpBuffer text)
{
	bool		drops = options->clean && !options->create &&
		entry->entry->drop_stmt;
	const char *oids = entry->oids ? entry->oids : entry->entry->tag;
	int			n_oids = Max(1, entry->n_oids);
	int			n = 0;

	if (toc_entry_makes_large_objects(entry->entry))
	{
		if (drops)
			n += write_drops(text, oids, n_oids, options->if_exists);
		if (entry->oids)
		{
			n += write_around(text, oids, n_oids, CREATE_OBJECT, "');");
			n += write_owners(text, entry);
		}
	}
	else if (entry->oids)
		n = write_privileges(text, entry);
	if (PQExpBufferBroken(text))
		pg_fatal("out of memory");
	return n;
}

bool
object_groups_has(const ScriptEntry *entry)
{
	static const char *const added[] = {"ACL", "COMMENT", "SECURITY LABEL", NULL};

	return toc_entry_makes_large_objects(entry->entry) ||
		(toc_entry_is_one_of(entry->entry, added) &&
		 strncmp(entry->entry->tag, "LARGE OBJECT", 12) == 0);
}

bool
object_groups_creates(const char *statement)
{
	return strncmp(statement, CREATE_OBJECT, strlen(CREATE_OBJECT)) == 0;
}
