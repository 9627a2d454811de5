/*
 * restore_schedule.c
 *		Assigns each entry of the table of contents to a phase of the restore.
 *
 * The order is that of pg_restore: the main definitions before the data, then
 * the data, then the other definitions, then privileges, and finally event
 * triggers and materialized views
 * (pg_backup_archiver.c:_tocEntryRestorePass).  All entries after the data
 * except event triggers are one phase, created in the order of pg_restore's
 * script.  Event triggers follow, so that none fires for a statement of this
 * run.
 *
 * Large objects are created before the data, empty and with their owners.
 * Their comments and privileges come after the data, so that owners have
 * access to them while they are filled.
 */
#include "base/fe_compat.h"

#include "load/restore_schedule.h"

/*
 * Does the entry belong to the database itself?  pg_restore also checks the
 * tag (pg_backup_archiver.c:_tocEntryRequired).
 */
static bool
is_of_database(const TocEntry *entry)
{
	static const char *const own[] = {"DATABASE", "DATABASE PROPERTIES", NULL};
	static const char *const added[] = {"ACL", "COMMENT", "SECURITY LABEL", NULL};

	return toc_entry_is_one_of(entry, own) ||
		(toc_entry_is_one_of(entry, added) && strncmp(entry->tag, "DATABASE ", 9) == 0);
}

static bool
is_added_to_large_object(const TocEntry *entry)
{
	return strncmp(entry->tag, "LARGE OBJECT", 12) == 0 &&
		(toc_entry_is(entry, "COMMENT") ||
		 toc_entry_is(entry, "SECURITY LABEL"));
}

static bool
is_of_event_trigger(const TocEntry *entry)
{
	static const char *const added[] = {"COMMENT", "SECURITY LABEL", NULL};

	return toc_entry_is(entry, "EVENT TRIGGER") ||
		(toc_entry_is_one_of(entry, added) &&
		 strncmp(entry->tag, "EVENT TRIGGER ", 14) == 0);
}

/*
 * The only table for whose rows an index, or a constraint with an index,
 * waits; -1 if it waits for more, such as the index of a partition, or for no
 * rows at all.  A user's function in an index may read any table, although it
 * should not; pg_restore would call it when all rows exist.
 */
static int
table_waited_for(const TocEntry *entry, const TocEntry *const *by_id,
				 const int *table_by_id)
{
	static const char *const kinds[] = {"INDEX", "CONSTRAINT", NULL};
	int			result = -1;

	if (!toc_entry_is_one_of(entry, kinds))
		return -1;
	for (int i = 0; i < entry->n_deps; i++)
	{
		const TocEntry *needed = by_id[Max(0, entry->deps[i])];

		if (needed == NULL)
			continue;
		if (needed->section == TOC_SECTION_POST_DATA ||
			toc_entry_is(needed, "FUNCTION"))
			return -1;
		if (table_by_id[needed->dump_id] < 0)
			continue;
		/* An index with an expression names its table twice. */
		if (result >= 0 && result != table_by_id[needed->dump_id])
			return -1;
		result = table_by_id[needed->dump_id];
	}
	return result;
}

/*
 * The phase of an entry.  section is the entry's own or, if it has none, that
 * of the entry before it, because comments and privileges follow their
 * objects.
 */
static RestorePhase
phase_of(const TocEntry *entry, TocSection section, bool create)
{
	static const char *const settings[] = {"ENCODING", "STDSTRINGS", "SEARCHPATH", NULL};

	if (toc_entry_is_one_of(entry, settings))
		return RESTORE_ALWAYS;
	if (is_of_database(entry))
		return create ? RESTORE_DATABASE : RESTORE_NEVER;
	if (entry->had_dumper)
		return RESTORE_NEVER;
	if (is_of_event_trigger(entry))
		return RESTORE_EVENT_TRIGGERS;
	if (toc_entry_makes_large_objects(entry))
		return RESTORE_LARGE_OBJECTS;
	if (section == TOC_SECTION_PRE_DATA && !toc_entry_is_privilege(entry) &&
		!is_added_to_large_object(entry))
		return RESTORE_PRE_DATA;
	return RESTORE_POST_DATA;
}

RestoreSchedule *
restore_schedule_make(const Toc *toc, const DumpTables *tables, bool create)
{
	RestoreSchedule *schedule = pg_malloc0(sizeof(RestoreSchedule));
	const TocEntry **by_id = toc_entries_by_id(toc);
	int		   *table_by_id = pg_malloc((toc->max_dump_id + 1) * sizeof(int));
	TocSection	section = TOC_SECTION_PRE_DATA;

	schedule->toc = toc;
	schedule->phases = pg_malloc((toc->n_entries + 1) * sizeof(RestorePhase));
	schedule->tables = pg_malloc((toc->n_entries + 1) * sizeof(int));
	for (int i = 0; i <= toc->max_dump_id; i++)
		table_by_id[i] = -1;
	for (int i = 0; i < tables->n_tables; i++)
		table_by_id[toc_table_dump_id(tables->tables[i].entry)] = i;

	for (int i = 0; i < toc->n_entries; i++)
	{
		const TocEntry *entry = &toc->entries[i];

		if (entry->section != TOC_SECTION_NONE)
			section = entry->section;
		if (toc_entry_is(entry, "OPERATOR CLASS"))
			schedule->has_operator_classes = true;
		schedule->phases[i] = phase_of(entry, section, create);
		schedule->tables[i] = -1;
		if (schedule->phases[i] != RESTORE_POST_DATA)
			continue;
		schedule->tables[i] = table_waited_for(entry, by_id, table_by_id);
		if (schedule->tables[i] >= 0)
			schedule->phases[i] = RESTORE_INDEXES;
	}
	return schedule;
}

/*
 * Leave out an extension: its entry, its comment, and privileges of its
 * functions and tables, which pg_dump writes as separate entries.
 */
void
restore_schedule_leave_out(RestoreSchedule *schedule, const char *extension)
{
	char	   *comment = psprintf("EXTENSION %s", extension);
	char	   *functions = psprintf("FUNCTION %s_", extension);
	char	   *tables = psprintf("TABLE %s_", extension);

	for (int i = 0; i < schedule->toc->n_entries; i++)
	{
		const TocEntry *entry = &schedule->toc->entries[i];

		if (toc_entry_is(entry, "EXTENSION") ? strcmp(entry->tag, extension) == 0
			: toc_entry_is(entry, "COMMENT") ? strcmp(entry->tag, comment) == 0
			: toc_entry_is(entry, "ACL") &&
			(strncmp(entry->tag, functions, strlen(functions)) == 0 ||
			 strncmp(entry->tag, tables, strlen(tables)) == 0))
			schedule->phases[i] = RESTORE_NEVER;
	}
}

bool
restore_schedule_has_tag(const RestoreSchedule *schedule, const char *part)
{
	for (int i = 0; i < schedule->toc->n_entries; i++)
	{
		if (strstr(schedule->toc->entries[i].tag, part))
			return true;
	}
	return false;
}

/*
 * Is this a comment, a privilege or a label of a schema, whose tag is "SCHEMA
 * x"?
 */
static bool
is_about(const TocEntry *entry, const char *about)
{
	return (toc_entry_is(entry, "COMMENT") || toc_entry_is(entry, "ACL") ||
			toc_entry_is(entry, "SECURITY LABEL")) &&
		strcmp(entry->tag, about) == 0;
}

/*
 * The dump ID of a schema; 0 if there is none, because no entry has this ID.
 */
static int
schema_dump_id(const Toc *toc, const char *schema)
{
	for (int i = 0; i < toc->n_entries; i++)
		if (toc_entry_is(&toc->entries[i], "SCHEMA") &&
			strcmp(toc->entries[i].tag, schema) == 0)
			return toc->entries[i].dump_id;
	return 0;
}

bool
restore_schedule_needs_schema(const RestoreSchedule *schedule, const char *schema)
{
	char	   *about = psprintf("SCHEMA %s", schema);
	int			id = schema_dump_id(schedule->toc, schema);
	bool		needed = false;

	for (int i = 0; i < schedule->toc->n_entries; i++)
	{
		const TocEntry *entry = &schedule->toc->entries[i];

		if (schedule->phases[i] == RESTORE_NEVER || is_about(entry, about))
			continue;
		needed = needed ||
			(entry->namespace && strcmp(entry->namespace, schema) == 0);

		/*
		 * The entry of an extension has no schema, but depends on the one
		 * that it uses.
		 */
		for (int j = 0; j < entry->n_deps; j++)
			needed = needed || entry->deps[j] == id;
	}
	return needed;
}

void
restore_schedule_leave_out_schema(RestoreSchedule *schedule, const char *schema)
{
	char	   *about = psprintf("SCHEMA %s", schema);

	for (int i = 0; i < schedule->toc->n_entries; i++)
	{
		const TocEntry *entry = &schedule->toc->entries[i];

		if (toc_entry_is(entry, "SCHEMA") ? strcmp(entry->tag, schema) == 0
			: is_about(entry, about))
			schedule->phases[i] = RESTORE_NEVER;
	}
}

/*
 * The text that pg_dump writes for the schema in a dump of all schemas
 * (pg_dump.c: dumpNamespace).
 */
static const char *const not_creating =
"-- *not* creating schema, since initdb creates it\n";

TocEntry *
restore_schedule_entries(const RestoreSchedule *schedule, RestorePhase phase,
						 int *n_entries, int *n_own)
{
	const Toc  *toc = schedule->toc;
	TocEntry   *entries = pg_malloc((toc->n_entries + 1) * sizeof(TocEntry));

	*n_entries = *n_own = 0;
	for (int i = 0; i < toc->n_entries; i++)
	{
		if (schedule->phases[i] != phase && schedule->phases[i] != RESTORE_ALWAYS)
			continue;
		entries[*n_entries] = toc->entries[i];
		if (schedule->has_public && toc_entry_is(&toc->entries[i], "SCHEMA") &&
			strcmp(toc->entries[i].tag, "public") == 0)
			entries[*n_entries].defn = unconstify(char *, not_creating);
		(*n_entries)++;
		*n_own += schedule->phases[i] == phase;
	}
	return entries;
}
