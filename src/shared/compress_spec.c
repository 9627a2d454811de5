/*
 * compress_spec.c
 *		Reads the description of a compression.
 *
 * PostgreSQL's own parser (common/compression.c) came with 15 and learnt
 * "long" with 16, so it cannot serve code that is built for 15 and writes
 * archives for any of them.  The grammar and the limits are its.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <zstd.h>

#include "shared/compress_spec.h"

typedef struct MethodInfo
{
	const char *name;
	const char *suffix;
	int			min_level;
	int			max_level;
	int			default_level;
	int			first_major;	/* whose pg_restore reads it */
} MethodInfo;

/* Indexed by CompressMethod; the levels are pg_dump's. */
static const MethodInfo methods[N_COMPRESS_METHODS] = {
	[COMPRESS_NONE] = {"none", "", 0, 0, 0, 0},
	[COMPRESS_GZIP] = {"gzip", ".gz", 1, 9, 6, 0},
	[COMPRESS_LZ4] = {"lz4", ".lz4", 0, 12, 0, 16},
	[COMPRESS_ZSTD] = {"zstd", ".zst", -131072, 22, 3, 16},
};

/* The spec that is being read, and the buffer for a message. */
typedef struct Parser
{
	CompressSpec *spec;
	char	   *error;
} Parser;

/* Note a message; "return fail(...)" reads as what it is. */
#define fail(parser, ...) \
	(snprintf((parser)->error, COMPRESS_SPEC_ERROR_BYTES, __VA_ARGS__), false)

static bool
parse_int(Parser *parser, const char *text, const char *option, int *value)
{
	char	   *end;
	long		number;

	/* strtol() reports a number that is too long for it in errno only */
	errno = 0;
	number = strtol(text, &end, 10);
	if (end == text || *end != '\0' || errno != 0 ||
		number < INT_MIN || number > INT_MAX)
		return fail(parser, "value for compression option \"%s\" must be an integer",
					option);
	*value = (int) number;
	return true;
}

static bool
parse_bool(Parser *parser, const char *text, bool *value)
{
	static const char *const words[] = {"on", "true", "yes", "1",
	"off", "false", "no", "0"};

	for (int i = 0; i < 8; i++)
	{
		if (strcasecmp(text, words[i]) == 0)
		{
			*value = i < 4;
			return true;
		}
	}
	return fail(parser, "value for compression option \"%s\" must be a Boolean value",
				"long");
}

static bool
check_level(Parser *parser)
{
	const MethodInfo *info = &methods[parser->spec->method];

	if (parser->spec->method == COMPRESS_NONE)
		return fail(parser, "compression algorithm \"none\" does not accept a compression level");
	if (parser->spec->level < info->min_level ||
		parser->spec->level > info->max_level)
		return fail(parser, "compression algorithm \"%s\" expects a compression level between %d and %d",
					info->name, info->min_level, info->max_level);
	return true;
}

/* zstd is usually built with threads, but need not be. */
static bool
check_workers(Parser *parser)
{
	ZSTD_bounds bounds = ZSTD_cParam_getBounds(ZSTD_c_nbWorkers);
	int			max = ZSTD_isError(bounds.error) ? 0 : bounds.upperBound;

	if (parser->spec->workers < 0 || parser->spec->workers > max)
		return fail(parser, "this zstd library supports between 0 and %d workers",
					max);
	return true;
}

/*
 * Read one option of a list.  The value is cut off at "=", and an option
 * without one is read as if it had an empty value, except "long".
 */
static bool
parse_option(Parser *parser, char *option)
{
	CompressSpec *spec = parser->spec;
	char	   *value = strchr(option, '=');

	if (value)
		*value++ = '\0';
	if (*option == '\0')
		return fail(parser, "found empty string where a compression option was expected");
	if (strcmp(option, "level") == 0)
		return parse_int(parser, value ? value : "", "level", &spec->level) &&
			check_level(parser);
	/* an unknown option is reported before one that the method lacks */
	if (strcmp(option, "workers") != 0 && strcmp(option, "long") != 0)
		return fail(parser, "unrecognized compression option: \"%.64s\"", option);
	if (spec->method != COMPRESS_ZSTD)
		return fail(parser, "compression algorithm \"%s\" does not support option \"%s\"",
					methods[spec->method].name, option);
	if (strcmp(option, "workers") == 0)
		return parse_int(parser, value ? value : "", "workers", &spec->workers) &&
			check_workers(parser);
	spec->long_distance = true;
	return value == NULL || parse_bool(parser, value, &spec->long_distance);
}

/* A level by itself, or a list of options. */
static bool
parse_detail(Parser *parser, char *detail)
{
	if (*detail != '\0' && strspn(detail, "+-0123456789") == strlen(detail))
		return parse_int(parser, detail, "level", &parser->spec->level) &&
			check_level(parser);
	while (detail)
	{
		char	   *next = strchr(detail, ',');

		if (next)
			*next++ = '\0';
		if (!parse_option(parser, detail))
			return false;
		detail = next;
	}
	return true;
}

/*
 * The copy of the argument is cut into words in place.  Limits are checked as
 * each option is read, so that the first wrong one is reported.
 */
bool
compress_spec_parse(const char *arg, CompressSpec *spec, char *error)
{
	Parser		parser = {spec, error};
	char		text[256];
	char	   *detail;
	int			method;

	memset(spec, 0, sizeof(*spec));
	if (strlen(arg) >= sizeof(text))
		return fail(&parser, "compression specification is too long");
	strcpy(text, arg);

	if (*text != '\0' && strspn(text, "+-0123456789") == strlen(text))
	{
		/* a bare number is a gzip level, 0 meaning none (pg_dump -Z 5) */
		if (!parse_int(&parser, text, "level", &spec->level))
			return false;
		spec->method = spec->level == 0 ? COMPRESS_NONE : COMPRESS_GZIP;
		return spec->level == 0 || check_level(&parser);
	}

	detail = strchr(text, ':');
	if (detail)
		*detail++ = '\0';
	for (method = 0; method < N_COMPRESS_METHODS; method++)
		if (strcasecmp(text, methods[method].name) == 0)
			break;
	if (method == N_COMPRESS_METHODS)
		return fail(&parser, "unrecognized compression algorithm: \"%.64s\"", text);
	spec->method = (CompressMethod) method;
	/* set before the detail is read, which may name no level */
	spec->level = methods[method].default_level;
	return detail == NULL || parse_detail(&parser, detail);
}

void
compress_spec_print(const CompressSpec *spec, char *buf, size_t size)
{
	if (spec->method == COMPRESS_NONE)
		snprintf(buf, size, "none");
	else if (spec->method == COMPRESS_ZSTD)
		snprintf(buf, size, "zstd:level=%d,long=%s,workers=%d", spec->level,
				 spec->long_distance ? "on" : "off", spec->workers);
	else
		snprintf(buf, size, "%s:%d", methods[spec->method].name, spec->level);
}

bool
compress_spec_equal(const CompressSpec *a, const CompressSpec *b)
{
	return a->method == b->method && a->level == b->level &&
		a->long_distance == b->long_distance && a->workers == b->workers;
}

CompressSpec
compress_spec_default(int pg_dump_major)
{
	CompressSpec spec = {COMPRESS_GZIP, 1, false, 0};

	if (compress_method_readable(COMPRESS_ZSTD, pg_dump_major))
		spec.method = COMPRESS_ZSTD;
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
