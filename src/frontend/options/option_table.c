/*
 * option_table.c
 *		Implements option_table.h: reads options according to a table, and
 *		checks them and their values.
 */
#include "base/fe_compat.h"

#include "common/checksum_helper.h"
#include "libpq-fe.h"

#include "base/buffer.h"
#include "options/option_table.h"
#include "stream/sink.h"

static bool
takes_value(const OptionRow *row)
{
	return row->kind != OPTION_FLAG && row->kind != OPTION_BARE;
}

/*
 * getopt_long() returns this for the first option, and consecutive numbers
 * for the others.
 */
#define FIRST_OPTION 1000

static const OptionRow *
row_of(const OptionTable *table, int no)
{
	return no < table->n_stock ? &table->stock[no].row :
		&table->rows[no - table->n_stock];
}

struct option *
option_table_names(const OptionTable *table)
{
	int			n = table->n_stock + table->n_rows;

	/* an element that is zero ends the table */
	struct option *names = pg_malloc0((n + 1) * sizeof(struct option));

	for (int i = 0; i < n; i++)
	{
		names[i].name = row_of(table, i)->name;
		names[i].has_arg = row_of(table, i)->kind == OPTION_OPTIONAL ?
			optional_argument : takes_value(row_of(table, i)) ?
			required_argument : no_argument;
		names[i].val = FIRST_OPTION + i;
	}
	return names;
}

char *
option_table_letters(const OptionTable *table)
{
	char	   *result = pg_malloc0(2 * table->n_stock + 1);
	char	   *pos = result;

	for (int i = 0; i < table->n_stock; i++)
	{
		if (table->stock[i].letter < ' ')
			continue;
		*pos++ = table->stock[i].letter;
		if (takes_value(&table->stock[i].row))
			*pos++ = ':';
	}
	return result;
}

const OptionRow *
option_table_find(const OptionTable *table, int c, const StockOption **stock)
{
	for (int i = 0; i < table->n_stock; i++)
	{
		*stock = &table->stock[i];
		/* if a letter has two names, use the first one */
		if (c == FIRST_OPTION + i || (c >= ' ' && (*stock)->letter == c))
			return &(*stock)->row;
	}
	*stock = NULL;
	return c < FIRST_OPTION ? NULL : row_of(table, c - FIRST_OPTION);
}

/* A smaller number of bytes requires a unit. */
#define LEAST_WITHOUT_UNIT (1024 * 1024)

pg_noreturn static void
reject_size(const char *arg, const char *option)
{
	pg_log_error("invalid value \"%s\" for option %s", arg, option);
	pg_fatal_hint("Specify a whole number greater than 0 with unit \"B\", \"kB\", \"MB\", \"GB\" or \"TB\", for example \"1536MB\".");
}

/*
 * Read a number of bytes, with the units of PostgreSQL's settings: B, kB, MB,
 * GB, TB.  A small number without a unit is an error, because users mean
 * megabytes.
 */
static uint64
option_value_size(const char *arg, const char *option)
{
	static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
	char	   *end;
	uint64		factor = 1;
	unsigned long long value;

	errno = 0;
	value = strtoull(arg, &end, 10);
	if (end == arg || errno != 0 || strchr(arg, '-') != NULL)
		reject_size(arg, option);
	while (*end == ' ')
		end++;

	/*
	 * Most users who write "--chunk-size=64" mean megabytes.  With 64 bytes,
	 * there would be millions of files.
	 */
	if (*end == '\0' && value > 0 && value < LEAST_WITHOUT_UNIT)
	{
		pg_log_error("invalid value \"%s\" for option %s", arg, option);
		pg_log_error_detail("The unit is missing.");
		pg_fatal_hint("Use \"B\", \"kB\", \"MB\", \"GB\" or \"TB\", for example \"%sMB\".  A number without a unit means bytes, and must be at least %d.",
					  arg, LEAST_WITHOUT_UNIT);
	}
	if (*end == '\0')
		end = "B";
	for (int i = 0; i < (int) lengthof(units); i++, factor *= 1024)
	{
		if (pg_strcasecmp(end, units[i]) != 0)
			continue;
		if (value == 0 || value > PG_INT64_MAX / factor)
			reject_size(arg, option);
		return value * factor;
	}
	reject_size(arg, option);
}

/*
 * A worker reads 16 kB at once (session_lost.c), so a lower rate is
 * impossible.  No machine reaches the highest rate.
 */
#define MIN_RATE_KB 32
#define MAX_RATE_KB 1073741824

/*
 * Read a rate like pg_basebackup.c:parse_max_rate(): in kilobytes per second,
 * or with a suffix k or M.  Returns bytes per second.
 */
static uint64
option_value_rate(const char *arg, const char *option)
{
	char	   *end;
	double		value;
	bool		is_number;

	errno = 0;
	value = strtod(arg, &end);
	is_number = end > arg && errno == 0;
	while (*end == ' ')
		end++;
	if (*end == 'M')
		value *= 1024;
	if (*end == 'k' || *end == 'M')
		end++;
	if (!is_number || *end != '\0')
	{
		pg_log_error("invalid value \"%s\" for option %s", arg, option);
		pg_fatal_hint("Specify a number of kilobytes per second, or use suffix \"k\" or \"M\".");
	}
	/* this form also rejects NaN, which strtod() accepts */
	if (!(value >= MIN_RATE_KB && value <= MAX_RATE_KB))
		pg_fatal("%s must be in range %d kB/s to %d kB/s", option,
				 MIN_RATE_KB, MAX_RATE_KB);
	return (uint64) (value * 1024);
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
		case OPTION_FILLED:
			if (arg[0] == '\0')
			{
				pg_log_error("invalid value \"%s\" for option %s", "", name);
				pg_fatal_detail("The value must not be empty.");
			}
			*(const char **) member = arg;
			break;
		case OPTION_TEXT:
			*(const char **) member = arg;
			break;
		case OPTION_OPTIONAL:
			*(const char **) member = arg ? arg : "";
			break;
		case OPTION_NUMBER:
			*(uint64 *) member = (uint64) option_value_number(arg, name, row->min,
															  row->max);
			break;
		case OPTION_SIZE:
			*(uint64 *) member = option_value_size(arg, name);
			break;
		case OPTION_RATE:
			*(uint64 *) member = option_value_rate(arg, "-r/--max-rate");
			break;
		case OPTION_LIST:
			simple_string_list_append((SimpleStringList *) member, arg);
			break;
		case OPTION_BARE:
			break;
		case OPTION_WITH_VALUE:
			if (row->offset != 0)
				*(bool *) member = true;
			break;
	}
}

/* ----------
 * Rules between options
 * ----------
 */

/* Was this option specified?  If so, its member does not have its default. */
static bool
option_table_is_given(const Options *options, const OptionRow *row)
{
	const char *member = (const char *) options + row->offset;

	switch (row->kind)
	{
		case OPTION_FLAG:
			return *(const bool *) member;
		case OPTION_TEXT:
		case OPTION_FILLED:
		case OPTION_OPTIONAL:
			return *(const char *const *) member != NULL;
		case OPTION_NUMBER:
		case OPTION_SIZE:
		case OPTION_RATE:
			return *(const uint64 *) member != 0;
		case OPTION_LIST:
			return ((const SimpleStringList *) member)->head != NULL;
		case OPTION_BARE:
		case OPTION_WITH_VALUE:
			return row->offset != 0 && *(const bool *) member;
	}
	return false;
}

/*
 * Check a rule between two options.  The rule contains a reason only if the
 * names of the options do not show it.
 */
static void
check_rule(const OptionRule *rule, const char *other, bool given,
		   bool other_given)
{
	if (!given || other_given == (rule->kind == NEEDS))
		return;
	pg_log_error(rule->kind == NEEDS ? "option %s requires option %s" :
				 "options %s and %s cannot be used together",
				 rule->option, other);
	if (rule->why)
		pg_log_error_detail("%s", rule->why);
	exit(1);
}

/* Returns the row with this name in messages, "-f/--file". */
static const OptionRow *
row_named(const OptionTable *table, const char *name)
{
	for (int i = 0; i < table->n_stock + table->n_rows; i++)
		if (strcmp(row_of(table, i)->name, strstr(name, "--") + 2) == 0)
			return row_of(table, i);
	return NULL;
}

void
option_rules_check(const Options *options, const OptionRule *rules, int n,
				   const OptionTable *table)
{
	for (int i = 0; i < n; i++)
	{
		const OptionRow *option = row_named(table, rules[i].option);
		char	   *rest = pg_strdup(rules[i].others);
		char	   *name;

		while ((name = strsep(&rest, " ")) != NULL)
		{
			const OptionRow *other = row_named(table, name);

			Assert(option && other);
			check_rule(&rules[i], name, option_table_is_given(options, option),
					   option_table_is_given(options, other));
		}
	}
}

bool
option_read_common(Options *options, int letter, const char *arg)
{
	switch (letter)
	{
		case 'j':
			options->jobs = (int) option_value_number(arg, "-j/--jobs", 1, 4096);
			return true;
		case 'v':
			options->verbose = true;
			pg_logging_increase_verbosity();
			return true;
		case 'w':
			options->connection.prompt_password = TRI_NO;
			return true;
		case 'W':
			options->connection.prompt_password = TRI_YES;
			return true;
	}
	return false;
}

/* ----------
 * Values
 * ----------
 */

int64
option_value_number(const char *arg, const char *option, int64 min, int64 max)
{
	char	   *end;
	long long	value;

	errno = 0;
	value = strtoll(arg, &end, 10);
	if (end == arg || *end != '\0')
	{
		pg_log_error("invalid value \"%s\" for option %s", arg, option);
		pg_fatal_hint("Specify a number from %lld to %lld.",
					  (long long) min, (long long) max);
	}
	if (errno != 0 || value < min || value > max)
		pg_fatal("%s must be in range %lld..%lld", option,
				 (long long) min, (long long) max);
	return value;
}

int
option_value_word(const char *arg, const char *const *words)
{
	for (int i = 0; words[i]; i++)
		if (pg_strcasecmp(arg, words[i]) == 0)
			return i;
	return -1;
}

void
option_value_compress(Options *options, const char *arg, CompressPlace place)
{
	char		error[COMPRESS_SPEC_ERROR_BYTES];
	bool		on_server = pg_strncasecmp(arg, "server-", 7) == 0;
	bool		on_client = pg_strncasecmp(arg, "client-", 7) == 0;

	options->compress_place = on_server ? COMPRESS_ON_SERVER :
		on_client ? COMPRESS_ON_CLIENT : place;
	if (on_server || on_client)
		arg += 7;
	if (!compress_spec_parse(arg, &options->compress, error))
		pg_fatal("invalid compression specification: %s", error);
}

void
option_value_check_toast(const char *method)
{
	if (method && strcmp(method, "default") != 0 &&
		strcmp(method, "lz4") != 0 && strcmp(method, "pglz") != 0)
	{
		pg_log_error("invalid value \"%s\" for option %s", method,
					 "--toast-compression");
		pg_fatal_hint("Use \"default\", \"lz4\" or \"pglz\".");
	}
}

void
option_value_check_checksums(const char *algorithm)
{
	pg_checksum_type type;

	if (algorithm &&
		!pg_checksum_parse_type(unconstify(char *, algorithm), &type))
	{
		pg_log_error("invalid value \"%s\" for option %s", algorithm,
					 "--manifest-checksums");
		pg_fatal_hint("Use \"none\", \"CRC32C\", \"SHA224\", \"SHA256\", \"SHA384\" or \"SHA512\".");
	}
}

void
option_value_check_slot(const char *name)
{
	if (name[0] != '\0' && strlen(name) < NAMEDATALEN &&
		strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(name))
		return;
	pg_log_error("invalid replication slot name \"%s\"", name);
	pg_fatal_hint("A slot name consists of 1 to %d lower-case letters, digits, and underscores.",
				  NAMEDATALEN - 1);
}

/*
 * libpq's message is not shown, because it quotes the string, which may
 * contain a password.
 */
void
option_value_check_conninfo(const char *conninfo)
{
	if (PQconninfoParse(conninfo, NULL))
		return;
	pg_log_error("invalid connection string for option %s",
				 "--subscription-conninfo");
	pg_fatal_hint("Connect with psql and the same string to see the error.");
}

/*
 * Do the commands for two file names differ?  If old_name is not NULL, they
 * must also differ for two old names; with all_databases, also for two
 * directories.
 */
static bool
commands_differ(const char *pattern, const char *old_name, bool all_databases)
{
	const char *of_one = all_databases ?
		sink_pipe_directory(pattern, "databases/1") : pattern;
	char	   *one = sink_pipe_command(of_one, "1.dat", old_name);
	char	   *other = sink_pipe_command(of_one, "2.dat", old_name);
	char	   *of_other = sink_pipe_command(of_one, "1.dat", "4.dat");

	return one && strcmp(one, other) != 0 &&
		(old_name == NULL || strcmp(one, of_other) != 0) &&
		(!all_databases || strcmp(of_one, pattern) != 0);
}

void
option_value_check_pipe(const char *option, const char *pattern,
						bool all_databases)
{
	if (pattern == NULL || commands_differ(pattern, NULL, all_databases))
		return;
	pg_log_error("invalid value \"%s\" for option %s", pattern, option);
	if (all_databases)
		pg_fatal_hint("With --all-databases, the command must contain %%d and %%f, which stand for the directory and the name of the file; %%%% stands for a percent sign.");
	pg_fatal_hint("The command must contain %%f, which stands for the name of the file; %%%% stands for a percent sign.");
}

#define BLANKS " \t\n"
#define WORD_ENDS BLANKS ";&|<>"

/*
 * Is a quoted text the argument of "sh -c"?  Then it begins with the name of
 * a program, unlike the path of a file with blanks in it.
 */
static bool
is_command(const char *text)
{
	size_t		first = strcspn(text, BLANKS);

	return text[first] != '\0' && strcspn(text, "/:%") >= first;
}

/*
 * Return the next word of a command, without its quotes, or NULL.  The path
 * in an argument such as "of=FILE" or "--file=FILE" is a word of its own.
 */
static char *
next_word(char **rest)
{
	char	   *from = *rest + strspn(*rest, WORD_ENDS);
	char	   *word = from;
	char	   *to = from;
	char		quote = '\0';

	if (*from == '\0')
		return NULL;
	for (; *from != '\0' && (quote || !strchr(WORD_ENDS, *from)); from++)
	{
		if (quote == '\0' && (*from == '\'' || *from == '"'))
		{
			if (is_command(from + 1))
				break;
			quote = *from;
		}
		else if (*from == quote)
			quote = '\0';
		else if (quote == '\0' && *from == '=' &&
				 (ssize_t) strspn(word, "abcdefghijklmnopqrstuvwxyz-") >= to - word)
			to = word;
		else
			*to++ = *from;
	}
	*rest = *from != '\0' ? from + 1 : from;
	*to = '\0';
	return word;
}

/*
 * Does the command of --pipe-copy store a file where it reads the file?  Then
 * it has two equal words, one with %o and one with %f.  A word that is only a
 * name may be the argument of a script.  Returns the word, owned, or NULL.
 */
static char *
find_own_place(const char *pattern)
{
	char	   *rest = pg_strdup(pattern);
	char	   *word;
	char	  **read = NULL;
	char	  **written = NULL;
	int			n_read = 0;
	int			n_written = 0;

	while ((word = next_word(&rest)) != NULL)
	{
		bool		has_old = false;
		bool		has_new = false;

		/* each sign has a letter, which commands_differ() has checked */
		for (char *sign = word; (sign = strchr(sign, '%')) != NULL; sign += 2)
		{
			has_new |= sign[1] == 'f';
			has_old |= sign[1] == 'o';
			if (sign[1] == 'o')
				sign[1] = 'f';
		}
		if (has_old && !has_new && strlen(word) > 2)
			*array_add(read, n_read) = word;
		if (has_new && !has_old)
			*array_add(written, n_written) = word;
	}
	for (int i = 0; i < n_read; i++)
		for (int j = 0; j < n_written; j++)
			if (strcmp(read[i], written[j]) == 0)
				return read[i];
	return NULL;
}

void
option_value_check_pipe_copy(const char *pattern, bool all_databases)
{
	char	   *place;

	if (pattern == NULL)
		return;
	if (commands_differ(pattern, "3.dat", all_databases))
	{
		place = find_own_place(pattern);
		if (place == NULL)
			return;
		pg_log_error("the command of %s would replace files of the previous archive",
					 "--pipe-copy");
		pg_log_error_detail("The source and the destination are the same path: \"%s\".",
							place);
		pg_fatal_hint("Use a new destination for each dump.  If the two paths are on different hosts, write \"/./\" instead of \"/\" in one of them.");
	}
	pg_log_error("invalid value \"%s\" for option %s", pattern, "--pipe-copy");
	if (all_databases)
		pg_fatal_hint("With --all-databases, the command must contain %%d, %%o and %%f, which stand for the directory, the old and the new name of the file; %%%% stands for a percent sign.");
	pg_fatal_hint("The command must contain %%o and %%f, which stand for the old and the new name of the file; %%%% stands for a percent sign.");
}

int
option_value_prefetch(const char *arg, int jobs)
{
	int			n = 16;

	/* The limit of -j is 4096.  A previous archive's options have no jobs. */
	if (arg)
		n = (int) option_value_number(arg, "--pipe-prefetch", 0,
									  4096 * PIPE_PREFETCH_OF_WORKER);
	return n == 0 ? 0 : Max(1, Min(n / Max(jobs, 1), PIPE_PREFETCH_OF_WORKER));
}

/* Is this a label that all metrics have? */
static bool
is_own_label(const char *name, size_t len)
{
	static const char *const own[] = {"command", "database", "host", "port"};

	for (int i = 0; i < (int) lengthof(own); i++)
		if (strlen(own[i]) == len && strncmp(own[i], name, len) == 0)
			return true;
	return false;
}

/*
 * Is this NAME=VALUE with a valid name?  Prometheus reserves names that begin
 * with two underscores.
 */
static bool
is_label(const char *label)
{
	const char *end = strchr(label, '=');

	return end && end > label && !isdigit((unsigned char) label[0]) &&
		strncmp(label, "__", 2) != 0 &&
		strspn(label, "abcdefghijklmnopqrstuvwxyz"
			   "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == end - label;
}

void
option_value_check_metrics(const Options *options)
{
	const SimpleStringListCell *first = options->metrics_labels.head;

	if (first && options->metrics == NULL)
		pg_fatal("option %s requires option %s", "--metrics-label", "--metrics");
	for (const SimpleStringListCell *cell = first; cell; cell = cell->next)
	{
		size_t		len = strcspn(cell->val, "=");

		if (!is_label(cell->val))
		{
			pg_log_error("invalid value \"%s\" for option %s", cell->val,
						 "--metrics-label");
			pg_fatal_hint("Use NAME=VALUE, for example \"site=north\".  The name consists of letters, digits, and underscores, and does not begin with a digit or with two underscores.");
		}
		for (const SimpleStringListCell *other = first; other != cell; other = other->next)
			if (strncmp(other->val, cell->val, len + 1) == 0)
				pg_fatal("label \"%.*s\" specified more than once",
						 (int) len, cell->val);
		if (is_own_label(cell->val, len))
			pg_fatal("label \"%.*s\" is reserved", (int) len, cell->val);
	}
}

void
option_value_check_password_command(const Options *options,
									const char *command, const char *option)
{
	/* the command returns the password, so no prompt is needed */
	if (command && options->connection.prompt_password == TRI_YES)
		pg_fatal("options %s and %s cannot be used together", option,
				 "-W/--password");
}
