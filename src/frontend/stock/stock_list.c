/*
 * stock_list.c
 *		Runs `pg_restore -l`, or leaves it all to pg_restore.
 */
#include "base/fe_compat.h"

#include <unistd.h>

#include "pqexpbuffer.h"

#include "base/interrupt.h"
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
