/*
 * task_command.c
 *		Makes the command of --run-tasks from the user's pattern.
 */
#include "base/fe_compat.h"

#include "fe_utils/string_utils.h"

#include "base/buffer.h"
#include "process/task_command.h"

/* The largest number of ranges that a message names. */
#define MOST_RANGES 10

char *
task_command_ranges(const bool *wanted, int n_tasks)
{
	PQExpBufferData list = buffer_new();
	int			n_ranges = 0;
	int			n_rest = 0;

	for (int i = 0; i < n_tasks; i++)
	{
		int			first = i;

		if (!wanted[i])
			continue;
		while (i + 1 < n_tasks && wanted[i + 1])
			i++;
		if (n_ranges++ >= MOST_RANGES)
		{
			n_rest += i + 1 - first;
			continue;
		}
		appendPQExpBuffer(&list, "%s%d", list.len > 0 ? "," : "", first);
		if (i > first)
			appendPQExpBuffer(&list, "%c%d", i == first + 1 ? ',' : '-', i);
	}
	if (n_rest > 0)
		appendPQExpBuffer(&list, " and %d more", n_rest);
	return buffer_text(&list);
}

static void
append_list(PQExpBuffer command, const bool *wanted, int n_tasks,
			const char *separator)
{
	const char *before = "";

	for (int i = 0; i < n_tasks; i++)
		if (wanted[i])
		{
			appendPQExpBuffer(command, "%s%d", before, i);
			before = separator;
		}
}

char *
task_command(const char *pattern, const char *plan_path, int n_tasks,
			 const bool *wanted)
{
	PQExpBufferData command = buffer_new();
	bool		has_plan = false;

	for (const char *pos = pattern; *pos; pos++)
	{
		if (*pos != '%')
		{
			appendPQExpBufferChar(&command, *pos);
			continue;
		}
		switch (*++pos)
		{
			case 'n':
				appendPQExpBuffer(&command, "%d", n_tasks);
				break;
			case 'p':

				/*
				 * Quote the path for the shell, because it may contain spaces
				 * or quotes.
				 */
				appendShellString(&command, plan_path);
				has_plan = true;
				break;
			case 'l':
				append_list(&command, wanted, n_tasks, ",");
				break;
			case 'L':
				append_list(&command, wanted, n_tasks, " ");
				break;
			case '%':
				appendPQExpBufferChar(&command, '%');
				break;
			default:
				return NULL;
		}
	}
	return has_plan ? buffer_text(&command) : NULL;
}
