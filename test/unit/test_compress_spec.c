/*
 * test_compress_spec.c
 *		What -Z takes, and what it answers to what it does not.
 */
#include "base/fe_compat.h"

#include "shared/compress.h"
#include "unit_test.h"

/* Parsed, and printed again; or the message. */
static void
check(const char *arg, const char *expected)
{
	CompressSpec spec;
	CompressSpec again;
	char		error[COMPRESS_SPEC_ERROR_BYTES];
	char		text[COMPRESS_SPEC_ERROR_BYTES];

	if (!compress_spec_parse(arg, &spec, error))
	{
		is_text(error, expected, arg);
		return;
	}
	compress_spec_print(&spec, text, sizeof(text));
	is_text(text, expected, arg);
	ok(compress_spec_parse(text, &again, error) &&
	   compress_spec_equal(&spec, &again), psprintf("%s is read again", text));
}

void
test_compress_spec(void)
{
	char		long_arg[300];

	check("0", "none");
	check("5", "gzip:5");
	check("10", "compression algorithm \"gzip\" expects a compression level between 1 and 9");
	check("none", "none");
	check("none:1", "compression algorithm \"none\" does not accept a compression level");
	check("gzip", "gzip:6");
	check("GZIP:level=9", "gzip:9");
	check("lz4", "lz4:0");
	check("lz4:13", "compression algorithm \"lz4\" expects a compression level between 0 and 12");
	check("lz4:long", "compression algorithm \"lz4\" does not support option \"long\"");
	check("zstd", "zstd:level=3,long=off,workers=0");
	check("zstd:-5", "zstd:level=-5,long=off,workers=0");
	check("zstd:level=7,long", "zstd:level=7,long=on,workers=0");
	check("zstd:long=no", "zstd:level=3,long=off,workers=0");
	check("zstd:long=maybe", "value for compression option \"long\" must be a Boolean value");
	check("zstd:level=x", "value for compression option \"level\" must be an integer");
	check("zstd:level=99999999999", "value for compression option \"level\" must be an integer");
	check("zstd:", "found empty string where a compression option was expected");
	check("zstd:level=1,", "found empty string where a compression option was expected");
	check("zstd:depth=1", "unrecognized compression option: \"depth\"");
	check("", "unrecognized compression algorithm: \"\"");
	check("pglz", "unrecognized compression algorithm: \"pglz\"");
	memset(long_arg, 'z', sizeof(long_arg) - 1);
	long_arg[sizeof(long_arg) - 1] = '\0';
	check(long_arg, "compression specification is too long");

	is_number(compress_spec_default(15).method, COMPRESS_GZIP, "default of 15");
	is_number(compress_spec_default(16).method, COMPRESS_ZSTD, "default of 16");
	for (int method = COMPRESS_NONE; method < N_COMPRESS_METHODS; method++)
		is_number(compress_method_readable(method, 15),
				  method <= COMPRESS_GZIP, compress_method_name(method));
	is_text(compress_method_suffix(COMPRESS_ZSTD), ".zst", "suffix of zstd");
}
