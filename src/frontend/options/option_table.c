/*
 * option_table.c
 *		Reads options by a table of them.
 */
#include "base/fe_compat.h"

#include "options/option_table.h"
#include "options/option_value.h"

bool
option_table_takes_value(const OptionRow *row)
{
	return row->kind != OPTION_FLAG && row->kind != OPTION_BARE;
}

struct option *
option_table_append(const struct option *before, const OptionRow *rows,
					int n_rows, int first)
{
	struct option *all;
	int			n = 0;

	while (before && before[n].name)
		n++;
	/* the last one, all zero, ends the table */
	all = pg_malloc0((n + n_rows + 1) * sizeof(struct option));
	if (n > 0)
		memcpy(all, before, n * sizeof(struct option));
	for (int i = 0; i < n_rows; i++)
	{
		all[n + i].name = rows[i].name;
		all[n + i].has_arg = option_table_takes_value(&rows[i]) ?
			required_argument : no_argument;
		all[n + i].val = first + i;
	}
	return all;
}

struct option *
option_table_names(const StockOption *options, int n, int first)
{
	OptionRow  *rows = pg_malloc(n * sizeof(OptionRow));
	struct option *names;

	for (int i = 0; i < n; i++)
		rows[i] = options[i].row;
	names = option_table_append(NULL, rows, n, first);
	free(rows);
	return names;
}

char *
option_table_letters(const StockOption *options, int n)
{
	char	   *result = pg_malloc0(2 * n + 1);
	char	   *pos = result;

	for (int i = 0; i < n; i++)
	{
		if (options[i].letter < ' ')
			continue;
		*pos++ = options[i].letter;
		if (option_table_takes_value(&options[i].row))
			*pos++ = ':';
	}
	return result;
}

const StockOption *
option_table_find(const StockOption *options, int n, int first, int c)
{
	if (c >= first && c < first + n)
		return &options[c - first];
	for (int i = 0; i < n; i++)
		if (c >= ' ' && options[i].letter == c)
			return &options[i];
	return NULL;
}

void
option_table_store(Options *options, const OptionRow *row, const char *arg)
{
	char	   *member = (char *) options + row->offset;
	char		name[64];

	snprintf(name, sizeof(name), "--%s", row->name);
	switch (row->kind)
	{
		case OPTION_FLAG:
			*(bool *) member = true;
			break;
		case OPTION_TEXT:
			*(const char **) member = arg;
			break;
		case OPTION_NUMBER:
			*(uint64 *) member = (uint64) option_value_number(arg, name, row->min,
															  row->max);
			break;
		case OPTION_SIZE:
			*(uint64 *) member = option_value_size(arg, name);
			break;
		case OPTION_LIST:
			simple_string_list_append((SimpleStringList *) member, arg);
			break;
		case OPTION_BARE:
		case OPTION_WITH_VALUE:
			break;
	}
}
