/*
 * option_value.c
 *		Values on the command line: what they say, and what they may be.
 */
#include "base/fe_compat.h"

#include "common/checksum_helper.h"
#include "libpq-fe.h"

#include "options/option_value.h"
#include "stream/sink.h"

/*
 * A worker takes 16 kB at once (traffic.c); and nothing is faster than that.
 */
#define MIN_RATE_KB 32
#define MAX_RATE_KB 1073741824

/* Bytes; fewer need a unit. */
#define LEAST_WITHOUT_UNIT (1024 * 1024)

int64
option_value_number(const char *arg, const char *option, int64 min, int64 max)
{
	char	   *end;
	long long	value;

	errno = 0;
	value = strtoll(arg, &end, 10);
	if (end == arg || *end != '\0')
		pg_fatal("invalid value \"%s\" for option %s", arg, option);
	if (errno != 0 || value < min || value > max)
		pg_fatal("%s must be in range %lld..%lld", option,
				 (long long) min, (long long) max);
	return value;
}

uint64
option_value_size(const char *arg, const char *option)
{
	static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
	char	   *end;
	uint64		factor = 1;
	unsigned long long value;

	errno = 0;
	value = strtoull(arg, &end, 10);
	if (end == arg || errno != 0 || strchr(arg, '-') != NULL)
		pg_fatal("invalid value \"%s\" for option %s", arg, option);
	while (*end == ' ')
		end++;
	if (*end == '\0' && value > 0 && value < LEAST_WITHOUT_UNIT)
	{
		pg_log_error("invalid value \"%s\" for option %s: it has no unit", arg,
					 option);
		pg_log_error_hint("Use \"B\", \"kB\", \"MB\", \"GB\", or \"TB\", e.g. \"%sMB\"; a number alone is of bytes, at least %d.",
						  arg, LEAST_WITHOUT_UNIT);
		exit(1);
	}
	if (*end == '\0')
		end = "B";
	for (int i = 0; i < (int) lengthof(units); i++, factor *= 1024)
	{
		if (pg_strcasecmp(end, units[i]) != 0)
			continue;
		if (value == 0 || value > PG_INT64_MAX / factor)
			pg_fatal("invalid value \"%s\" for option %s", arg, option);
		return value * factor;
	}
	pg_log_error("invalid value \"%s\" for option %s", arg, option);
	pg_log_error_hint("Valid units for this option are \"B\", \"kB\", \"MB\", \"GB\", and \"TB\".");
	exit(1);
}

uint64
option_value_rate(const char *arg, const char *option)
{
	char	   *end;
	double		value;

	errno = 0;
	value = strtod(arg, &end);
	if (end == arg || errno != 0)
		pg_fatal("invalid value \"%s\" for option %s", arg, option);
	while (*end == ' ')
		end++;
	if (*end == 'M')
		value *= 1024;
	if (*end == 'k' || *end == 'M')
		end++;
	if (*end != '\0')
	{
		pg_log_error("invalid value \"%s\" for option %s", arg, option);
		pg_log_error_hint("Use kilobytes a second, or a number with the suffix \"k\" or \"M\".");
		exit(1);
	}
	if (!(value >= MIN_RATE_KB && value <= MAX_RATE_KB))
		pg_fatal("%s must be in range %d kB/s to %d kB/s", option,
				 MIN_RATE_KB, MAX_RATE_KB);
	return (uint64) (value * 1024);
}

void
option_value_check_toast(const char *method)
{
	if (method && strcmp(method, "default") != 0 &&
		strcmp(method, "lz4") != 0 && strcmp(method, "pglz") != 0)
		pg_fatal("unrecognized compression method \"%s\"", method);
}

void
option_value_check_checksums(const char *algorithm)
{
	pg_checksum_type type;

	if (algorithm &&
		!pg_checksum_parse_type(unconstify(char *, algorithm), &type))
		pg_fatal("unrecognized checksum algorithm: \"%s\"", algorithm);
}

void
option_value_check_slot(const char *name)
{
	if (name[0] != '\0' && strlen(name) < NAMEDATALEN &&
		strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(name))
		return;
	pg_log_error("invalid replication slot name \"%s\"", name);
	pg_log_error_hint("A name has 1 to %d lower case letters, digits and underscores.",
					  NAMEDATALEN - 1);
	exit(1);
}

/* What libpq has to say would quote the string, which may have a password. */
void
option_value_check_conninfo(const char *conninfo)
{
	PQconninfoOption *parsed = PQconninfoParse(conninfo, NULL);

	if (parsed == NULL)
	{
		pg_log_error("invalid connection string for option %s",
					 "--subscription-conninfo");
		pg_log_error_hint("psql says what is wrong with it.");
		exit(1);
	}
	PQconninfoFree(parsed);
}

void
option_value_check_pipe(const char *pattern)
{
	char	   *one = sink_pipe_command(pattern, "1.dat");
	char	   *other = sink_pipe_command(pattern, "2.dat");

	if (one == NULL || strcmp(one, other) == 0)
	{
		pg_log_error("invalid value \"%s\" for option %s", pattern, "--pipe");
		pg_log_error_hint("%%f stands for the name of the file, and must be there; %%%% for a percent sign.");
		exit(1);
	}
	free(one);
	free(other);
}

/* Those that metrics have anyway. */
static bool
is_own_label(const char *name, size_t len)
{
	static const char *const own[] = {"command", "database", "host", "port"};

	for (int i = 0; i < (int) lengthof(own); i++)
		if (strlen(own[i]) == len && strncmp(own[i], name, len) == 0)
			return true;
	return false;
}

/* Names that begin with two underscores are Prometheus's own. */
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

	if (options->metrics && options->metrics[0] == '\0')
		pg_fatal("invalid value \"%s\" for option %s", "", "--metrics");
	if (first && options->metrics == NULL)
		pg_fatal("option %s requires option %s", "--metrics-label", "--metrics");
	for (const SimpleStringListCell *cell = first; cell; cell = cell->next)
	{
		size_t		len = strcspn(cell->val, "=");

		if (!is_label(cell->val))
		{
			pg_log_error("invalid value \"%s\" for option %s", cell->val,
						 "--metrics-label");
			pg_log_error_hint("The form is NAME=VALUE, e.g. \"site=north\", where the name has letters, digits and underscores.");
			exit(1);
		}
		for (const SimpleStringListCell *other = first; other != cell; other = other->next)
			if (strncmp(other->val, cell->val, len + 1) == 0)
				pg_fatal("label \"%.*s\" is given twice", (int) len, cell->val);
		if (is_own_label(cell->val, len))
			pg_fatal("metrics have a label \"%.*s\" already", (int) len, cell->val);
	}
}

void
option_value_check_password_command(const Options *options,
									const char *command, const char *option)
{
	if (command == NULL)
		return;
	if (command[0] == '\0')
		pg_fatal("invalid value \"%s\" for option %s", "", option);
	if (options->connection.prompt_password == TRI_YES)
		pg_fatal("options %s and %s cannot be used together", option,
				 "-W/--password");
}
