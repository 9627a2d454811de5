/*
 * compress_spec.c
 *		Reads the argument of -Z/--compress.
 *
 * PostgreSQL's own parser (common/compression.c) came with 15 and learnt
 * "long" with 16, so it cannot serve a frontend that is built for 14 on and
 * writes archives for any of them.  The grammar and the limits are its.
 */
#include "fe_compat.h"

#include <limits.h>
#include <zstd.h>

#include "compress_spec.h"

typedef struct MethodInfo
{
	const char *name;
	const char *suffix;
	int			min_level;
	int			max_level;
	int			default_level;
	int			first_major;	/* whose pg_restore reads it */
} MethodInfo;

/* Indexed by CompressMethod.  Levels: pg_dump's, zstd's own minimum apart. */
static const MethodInfo methods[] = {
	[COMPRESS_NONE] = {"none", "", 0, 0, 0, 0},
	[COMPRESS_GZIP] = {"gzip", ".gz", 1, 9, 6, 0},
	[COMPRESS_LZ4] = {"lz4", ".lz4", 0, 12, 0, 16},
	[COMPRESS_ZSTD] = {"zstd", ".zst", -131072, 22, 3, 16},
};

static int
parse_int(const char *text, const char *what)
{
	char	   *end;
	long		value;

	errno = 0;
	value = strtol(text, &end, 10);
	if (end == text || *end != '\0' || errno != 0 ||
		value < INT_MIN || value > INT_MAX)
		pg_fatal("invalid compression specification: value for compression option \"%s\" must be an integer",
				 what);
	return (int) value;
}

static bool
parse_bool(const char *text)
{
	if (pg_strcasecmp(text, "on") == 0 || pg_strcasecmp(text, "true") == 0 ||
		pg_strcasecmp(text, "yes") == 0 || strcmp(text, "1") == 0)
		return true;
	if (pg_strcasecmp(text, "off") == 0 || pg_strcasecmp(text, "false") == 0 ||
		pg_strcasecmp(text, "no") == 0 || strcmp(text, "0") == 0)
		return false;
	pg_fatal("invalid compression specification: value for compression option \"%s\" must be a Boolean value",
			 "long");
}

static CompressMethod
parse_method(const char *name)
{
	for (int i = 0; i < (int) lengthof(methods); i++)
		if (pg_strcasecmp(name, methods[i].name) == 0)
			return (CompressMethod) i;
	pg_fatal("unrecognized compression algorithm: \"%s\"", name);
}

static void
check_level(CompressMethod method, int level)
{
	const MethodInfo *info = &methods[method];

	if (method == COMPRESS_NONE)
		pg_fatal("invalid compression specification: compression algorithm \"none\" does not accept a compression level");
	if (level < info->min_level || level > info->max_level)
		pg_fatal("invalid compression specification: compression algorithm \"%s\" expects a compression level between %d and %d",
				 info->name, info->min_level, info->max_level);
}

/* zstd is usually built with threads, but need not be. */
static void
check_workers(int workers)
{
	ZSTD_bounds bounds = ZSTD_cParam_getBounds(ZSTD_c_nbWorkers);

	if (ZSTD_isError(bounds.error) ||
		workers < 0 || workers > bounds.upperBound)
		pg_fatal("invalid compression specification: this zstd library supports between 0 and %d workers",
				 ZSTD_isError(bounds.error) ? 0 : bounds.upperBound);
}

static void
parse_option(CompressSpec *spec, char *option)
{
	char	   *value = strchr(option, '=');

	if (value)
		*value++ = '\0';

	if (strcmp(option, "level") == 0)
	{
		spec->level = parse_int(value ? value : "", "level");
		check_level(spec->method, spec->level);
	}
	else if (strcmp(option, "workers") == 0 && spec->method == COMPRESS_ZSTD)
	{
		spec->workers = parse_int(value ? value : "", "workers");
		check_workers(spec->workers);
	}
	else if (strcmp(option, "long") == 0 && spec->method == COMPRESS_ZSTD)
		spec->long_distance = value ? parse_bool(value) : true;
	else if (strcmp(option, "workers") == 0 || strcmp(option, "long") == 0)
		pg_fatal("invalid compression specification: compression algorithm \"%s\" does not support option \"%s\"",
				 methods[spec->method].name, option);
	else
		pg_fatal("invalid compression specification: unrecognized compression option: \"%s\"",
				 option);
}

/* A bare number is a gzip level, 0 meaning no compression (pg_dump -Z 5). */
static CompressSpec
spec_from_number(int level)
{
	CompressSpec spec = {COMPRESS_NONE};

	if (level != 0)
	{
		spec.method = COMPRESS_GZIP;
		spec.level = level;
		check_level(spec.method, level);
	}
	return spec;
}

CompressSpec
compress_spec_parse(const char *arg)
{
	CompressSpec spec = {COMPRESS_NONE};
	char	   *method = pg_strdup(arg);
	char	   *detail;
	char	   *end;
	long		number;

	number = strtol(arg, &end, 10);
	if (end != arg && *end == '\0')
	{
		if (number < 0 || number > 9)
			pg_fatal("invalid compression specification: compression algorithm \"gzip\" expects a compression level between 1 and 9");
		free(method);
		return spec_from_number((int) number);
	}

	detail = strchr(method, ':');
	if (detail)
		*detail++ = '\0';
	spec.method = parse_method(method);
	spec.level = methods[spec.method].default_level;

	if (detail && *detail == '\0')
		pg_fatal("invalid compression specification: found empty string where a compression option was expected");
	if (detail && strspn(detail, "+-0123456789") == strlen(detail))
	{
		spec.level = parse_int(detail, "level");
		check_level(spec.method, spec.level);
	}
	else
	{
		while (detail)
		{
			char	   *next = strchr(detail, ',');

			if (next)
				*next++ = '\0';
			if (*detail == '\0')
				pg_fatal("invalid compression specification: found empty string where a compression option was expected");
			parse_option(&spec, detail);
			detail = next;
		}
	}
	free(method);
	return spec;
}

CompressSpec
compress_spec_default(int pg_dump_major)
{
	CompressSpec spec = {COMPRESS_GZIP};

	if (compress_method_readable(COMPRESS_ZSTD, pg_dump_major))
		spec.method = COMPRESS_ZSTD;
	spec.level = 1;
	return spec;
}

bool
compress_method_readable(CompressMethod method, int pg_dump_major)
{
	return pg_dump_major >= methods[method].first_major;
}

const char *
compress_method_name(CompressMethod method)
{
	return methods[method].name;
}

const char *
compress_method_suffix(CompressMethod method)
{
	return methods[method].suffix;
}
