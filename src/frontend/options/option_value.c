/*
 * option_value.c
 *		Numbers, sizes, rates and methods on the command line.
 */
#include "base/fe_compat.h"

#include "options/option_value.h"

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
