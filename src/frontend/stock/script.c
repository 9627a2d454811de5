/*
 * script.c
 *		Makes pg_restore write a script with marks in place of definitions,
 *		and splits the script at the marks.
 */
#include "base/fe_compat.h"

#include "base/buffer.h"
#include "base/hex.h"
#include "stock/script.h"

#define MARK_BYTES 16

/* The state while a script is read. */
typedef struct Cut
{
	Script	   *script;
	const char *mark;
	const TocEntry *entries;
	int			n_entries;
	bool	   *found;			/* by entry: its mark was found */
	bool		std_strings;
	bool		began;			/* a statement was found */
	bool		restricted;		/* \restrict was found */
	bool		ended;			/* the final comment was found */
	const char *settings[SCRIPT_N_SETTINGS];
	const char *problem;
} Cut;

/* The beginnings of statements that set something for an entry. */
static const struct
{
	const char *begin;
	ScriptSetting setting;
}			setting_statements[] = {
	{"SET SESSION AUTHORIZATION ", SCRIPT_SESSION_USER},
	{"SET search_path = ", SCRIPT_SEARCH_PATH},
	{"SELECT pg_catalog.set_config('search_path', ", SCRIPT_SEARCH_PATH},
	{"SET default_tablespace = ", SCRIPT_TABLESPACE},
	{"SET default_table_access_method = ", SCRIPT_ACCESS_METHOD}
};

/* ----------
 * Splitting the script.
 * ----------
 */
/*
 * Set the problem.  Always returns NULL, for callers that return a position.
 */
static const char *
script_fail(Cut *cut, const char *problem)
{
	cut->problem = problem;
	return NULL;
}

static const char **
add_statement(const char **statements, int *n, const char *statement)
{
	*array_add(statements, *n) = statement;
	return statements;
}

/*
 * Returns the entry whose mark is the line at p, and sets *end to the end of
 * the mark.  Returns -1 if it is not a valid mark.
 */
static int
marked_entry(const Cut *cut, const char *p, const char **end)
{
	char	   *number_end;
	long		number;

	if (!text_after(p, cut->mark))
		return -1;
	p += strlen(cut->mark);
	number = strtol(p, &number_end, 10);
	*end = number_end;
	return number_end == p || *number_end != '\n' || number < 0 ||
		number >= cut->n_entries || cut->found[number] ? -1 : (int) number;
}

/*
 * Read a comment, which is a mark, the end of the script, or without meaning.
 */
static const char *
take_comment(Cut *cut, const char *p)
{
	const char *end = p + strcspn(p, "\n");
	int			number;
	ScriptEntry *entry;

	if (text_after(p, "-- PostgreSQL database dump complete\n"))
		cut->ended = true;
	if (!text_after(p, cut->mark))
		return end;
	number = marked_entry(cut, p, &end);
	if (number < 0)
		return script_fail(cut, "it contains an unexpected separator");
	cut->found[number] = true;
	entry = &cut->script->entries[cut->script->n_entries++];
	entry->entry = &cut->entries[number];
	memcpy(entry->settings, cut->settings, sizeof(entry->settings));
	return end;
}

/*
 * Read a psql command: \restrict at the start and \unrestrict at the end
 * (minor releases since August 2025).  The script must not contain others.
 */
static const char *
take_psql_command(Cut *cut, const char *p)
{
	if (text_after(p, "\\restrict ") && !cut->began && !cut->restricted &&
		cut->script->n_entries == 0)
		cut->restricted = true;
	else if (text_after(p, "\\unrestrict ") && cut->restricted && cut->ended)
		cut->restricted = false;
	else
		return script_fail(cut, "it contains an unexpected psql command");
	return p + strcspn(p, "\n");
}

/*
 * Returns the position after the semicolon that ends the statement, outside
 * of all quotes, or NULL if there is none.
 */
static const char *
statement_end(const Cut *cut, const char *p)
{
	char		quote = '\0';

	for (; *p; p++)
	{
		if (quote == '\0' && *p == ';')
			return p + 1;
		if (quote == '\0' && (*p == '\'' || *p == '"'))
			quote = *p;
		else if (quote == '\'' && *p == '\\' && !cut->std_strings && p[1])
			p++;
		else if (quote == *p)
			quote = '\0';		/* a doubled quote begins another string */
	}
	return NULL;
}

/*
 * Store a statement: a setting for entries, a setting at the start of the
 * script, or a statement after a definition, where pg_restore writes only
 * ALTER ... OWNER TO.  Returns false for any other statement.
 */
static bool
place_statement(Cut *cut, const char *statement)
{
	Script	   *script = cut->script;
	ScriptEntry *last = script->n_entries == 0 ? NULL :
		&script->entries[script->n_entries - 1];

	for (int i = 0; i < (int) lengthof(setting_statements); i++)
		if (text_after(statement, setting_statements[i].begin))
		{
			cut->settings[setting_statements[i].setting] = statement;
			return true;
		}
	if (last == NULL && text_after(statement, "SET "))
		script->head = add_statement(script->head, &script->n_head, statement);
	else if (last && text_after(statement, "ALTER "))
		last->after = add_statement(last->after, &last->n_after, statement);
	else
		return false;
	return true;
}

static const char *
take_statement(Cut *cut, const char *p)
{
	const char *end = statement_end(cut, p);

	/* No statement may follow the final comment. */
	if (end == NULL || cut->ended)
		return script_fail(cut, "its end is unexpected");
	cut->began = true;
	if (!place_statement(cut, pnstrdup(p, end - p)))
		return script_fail(cut, "it contains an unexpected statement");
	return end;
}

Script *
script_cut(const char *text, const char *mark, const TocEntry *entries,
		   int n_entries, bool std_strings, const char **problem)
{
	Cut			cut = {.mark = mark,.entries = entries,
	.n_entries = n_entries,.std_strings = std_strings};
	const char *p = text + strspn(text, " \n");

	cut.script = pg_malloc0(sizeof(Script));
	cut.script->entries = pg_malloc0((n_entries + 1) * sizeof(ScriptEntry));
	cut.found = pg_malloc0(n_entries + 1);
	while (p && *p)
	{
		p = text_after(p, "--") ? take_comment(&cut, p) :
			*p == '\\' ? take_psql_command(&cut, p) : take_statement(&cut, p);
		if (p)
			p += strspn(p, " \n");
	}
	if (p && (!cut.ended || cut.restricted))
		(void) script_fail(&cut, "its end is unexpected");
	*problem = cut.problem;
	return cut.problem ? NULL : cut.script;
}

/* ----------
 * Running pg_restore.
 * ----------
 */

/* This is the test of processStdStringsEntry() in pg_backup_archiver.c. */
static bool
has_std_strings(const TocEntry *entries, int n_entries)
{
	for (int i = 0; i < n_entries; i++)
		if (toc_entry_is(&entries[i], "STDSTRINGS") && entries[i].defn &&
			strstr(entries[i].defn, "'on'"))
			return true;
	return false;
}

/*
 * Returns a copy of the entry with a mark as its definition, which the caller
 * owns.  A group of large objects becomes a single large object, because
 * pg_restore would not write its definition unchanged, but statements for
 * each OID in it.
 */
static TocEntry
marked_copy(const TocEntry *entry, const char *mark, int number,
			const Options *options)
{
	static char object_desc[] = "BLOB";
	static char object_tag[] = SCRIPT_GROUP_OID;
	static char privilege_tag[] = "LARGE OBJECT " SCRIPT_GROUP_OID;
	TocEntry	copy = *entry;
	bool		is_comment;

	/*
	 * pg_restore checks whether a schema's definition begins with "--".  If
	 * it does, as that of "public", pg_restore sets the schema's owner even
	 * if it creates other objects as their owners.  If it does not, and no
	 * owners are restored, pg_restore writes a definition of its own in place
	 * of the mark.  So the mark begins with "--" in these two cases, and with
	 * a space otherwise.
	 */
	is_comment = options->no_owner || text_after(entry->defn, "--");
	copy.defn = psprintf("%s%s%d\n", is_comment ? "" : " ", mark, number);
	if (toc_entry_is(entry, "BLOB METADATA"))
	{
		copy.desc = object_desc;
		copy.tag = object_tag;
	}
	else if (toc_entry_is_group_privilege(entry))
		copy.tag = privilege_tag;
	return copy;
}

Script *
script_read(const PgRestoreSetup *setup, const char *name,
			const TocEntry *entries, int n_entries)
{
	TocEntry   *marked = pg_malloc((n_entries + 1) * sizeof(TocEntry));

	/* The mark is random, so that no archive can contain it already. */
	char	   *mark = psprintf("-- pg_pardump %s ", hex_random(MARK_BYTES));
	PQExpBufferData text = buffer_new();
	Script	   *script;
	const char *problem;

	for (int i = 0; i < n_entries; i++)
	{
		marked[i] = entries[i];

		/*
		 * pg_restore reads the definitions of settings, so they are not
		 * replaced.
		 */
		if (!toc_entry_is_setting(&entries[i]) && entries[i].defn && *entries[i].defn)
			marked[i] = marked_copy(&entries[i], mark, i, setup->options);
	}
	stock_pg_restore_script(setup, name, marked, n_entries, &text);
	script = script_cut(text.data, mark, entries, n_entries,
						has_std_strings(entries, n_entries), &problem);
	if (script == NULL)
	{
		pg_log_error("could not read the script written by pg_restore");
		pg_fatal_detail("%s", message_sentence(problem));
	}
	termPQExpBuffer(&text);
	return script;
}
