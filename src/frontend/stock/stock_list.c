/*
 * stock_list.c
 *		Runs `pg_restore -l`, or leaves it all to pg_restore.
 */
#include "base/fe_compat.h"

#include <unistd.h>

#include "pqexpbuffer.h"

#include "base/interrupt.h"
#include "base/message.h"
#include "password/typed_password.h"
#include "stock/stock_list.h"
#include "stock/stock_output.h"

/*
 * Lines of "ID; ...", and comments, which begin with a semicolon
 * (pg_backup_archiver.c:PrintTOCSummary).
 */
static int *
parse_ids(const char *text, int *n_ids)
{
	int		   *ids = NULL;
	int			space = 0;

	*n_ids = 0;
	for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
	{
		char	   *end;
		long		id = strtol(line, &end, 10);

		if (end != line && *end == ';' && id > 0 && id <= PG_INT32_MAX)
		{
			if (*n_ids == space)
			{
				space = Max(256, space * 2);
				ids = pg_realloc(ids, space * sizeof(int));
			}
			ids[(*n_ids)++] = (int) id;
		}
		else if (*line != ';')
			pg_fatal("could not read the list that pg_restore makes");
		if (line[strcspn(line, "\n")] == '\0')
			break;
	}
	return ids;
}

static int
count_args(const char *const *args)
{
	int			n = 0;

	while (args && args[n])
		n++;
	return n;
}

int *
stock_list_read(const char *program, const Options *options, int *n_ids)
{
	int			n = count_args(options->list_args);
	const char **args = pg_malloc((n + 5) * sizeof(char *));
	PQExpBufferData text;
	int		   *ids;

	args[0] = program;
	args[1] = "-l";
	if (n > 0)
		memcpy(args + 2, options->list_args, n * sizeof(char *));
	args[n + 2] = "--";
	args[n + 3] = options->restore;
	args[n + 4] = NULL;
	initPQExpBuffer(&text);
	stock_output_read(args, &text);
	ids = parse_ids(text.data, n_ids);
	termPQExpBuffer(&text);
	free(args);
	return ids;
}

/*
 * Does a name given with this letter match (pg_backup_archiver.c:
 * _tocEntryRequired)?
 */
static bool
matches(const TocEntry *entry, char letter, const char *name)
{
	static const char *const tables[] = {
		"TABLE", "TABLE DATA", "VIEW", "FOREIGN TABLE", "MATERIALIZED VIEW",
		"MATERIALIZED VIEW DATA", "SEQUENCE", "SEQUENCE SET", "STATISTICS DATA", NULL
	};
	static const char *const functions[] = {"FUNCTION", "AGGREGATE", "PROCEDURE", NULL};

	switch (letter)
	{
		case 'n':
		case 'N':
			return entry->namespace && strcmp(entry->namespace, name) == 0;
		case 't':
			return toc_entry_is_one_of(entry, tables) && strcmp(entry->tag, name) == 0;
		case 'P':
			return toc_entry_is_one_of(entry, functions) && strcmp(entry->tag, name) == 0;
		case 'I':
			return toc_entry_is(entry, "INDEX") && strcmp(entry->tag, name) == 0;
		case 'T':
			return toc_entry_is(entry, "TRIGGER") && strcmp(entry->tag, name) == 0;
	}
	return false;
}

/* Do all names together select the entry? */
static bool
is_selected(const TocEntry *entry, const SimpleStringList *names)
{
	bool		by_schema = false;
	bool		in_schema = false;
	bool		by_name = false;
	bool		has_name = false;

	for (const SimpleStringListCell *cell = names->head; cell; cell = cell->next)
	{
		bool		found = matches(entry, cell->val[0], cell->val + 1);

		if (cell->val[0] == 'N' && found)
			return false;
		if (cell->val[0] == 'n')
		{
			by_schema = true;
			in_schema |= found;
		}
		else if (cell->val[0] != 'N')
		{
			by_name = true;
			has_name |= found;
		}
	}
	return (in_schema || !by_schema) && (has_name || !by_name);
}

/*
 * "-t shop.orders" is the table "shop.orders" of any schema to pg_restore,
 * and a trigger has the name of its table before its own.
 */
static void
hint_at_spelling(const Toc *toc, const SimpleStringList *names)
{
	for (const SimpleStringListCell *cell = names->head; cell; cell = cell->next)
	{
		const char *name = cell->val + 1;
		const char *dot = strchr(name, '.');

		if (cell->val[0] == 't' && dot)
			pg_log_error_hint("Give the schema with an option of its own: -n %.*s -t %s.",
							  (int) (dot - name), name, dot + 1);
		for (int i = 0; i < toc->n_entries && cell->val[0] == 'T'; i++)
		{
			const TocEntry *entry = &toc->entries[i];
			size_t		length = strlen(entry->tag);

			if (toc_entry_is(entry, "TRIGGER") && length > strlen(name) &&
				entry->tag[length - strlen(name) - 1] == ' ' &&
				strcmp(entry->tag + length - strlen(name), name) == 0)
				pg_log_error_hint("Give the table before the name of the trigger: -T \"%s\".",
								  printable(entry->tag));
		}
	}
}

void
stock_list_check_names(const Toc *toc, const Options *options)
{
	const SimpleStringList *names = &options->name_filters;
	PQExpBufferData given;
	bool		selected = names->head == NULL;

	initPQExpBuffer(&given);
	for (const SimpleStringListCell *cell = names->head; cell; cell = cell->next)
		appendPQExpBuffer(&given, " -%c %s", cell->val[0], printable(cell->val + 1));
	for (int i = 0; i < toc->n_entries && !selected; i++)
		selected = is_selected(&toc->entries[i], names);
	if (!selected)
	{
		pg_log_error("no entry of the archive matches%s", given.data);
		hint_at_spelling(toc, names);
		exit(1);
	}
	termPQExpBuffer(&given);
	for (const SimpleStringListCell *cell = names->head;
		 cell && !options->strict_names; cell = cell->next)
	{
		bool		found = false;

		for (int i = 0; i < toc->n_entries && !found; i++)
			found = matches(&toc->entries[i], cell->val[0], cell->val + 1);
		if (!found)
			pg_log_warning("no entry of the archive matches -%c %s", cell->val[0],
						   printable(cell->val + 1));
	}
}

void
stock_list_become(const char *program, const Options *options)
{
	int			n = count_args(options->pg_restore_args);
	const char **args = pg_malloc((n + 3) * sizeof(char *));
	int			first = 0;

	args[first++] = program;
	/* it would prompt even without a terminal */
	if (options->connection.prompt_password == TRI_DEFAULT &&
		!typed_password_has_terminal())
		args[first++] = "-w";
	if (n > 0)
		memcpy(args + first, options->pg_restore_args, n * sizeof(char *));
	args[first + n] = NULL;
	interrupt_reset_signals();
	execv(program, (char *const *) args);
	pg_fatal("could not execute \"%s\": %m", program);
}
