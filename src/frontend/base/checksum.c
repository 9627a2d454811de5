/*
 * checksum.c
 *		Checksums whose failures end the program.
 *
 * SHA-2 uses OpenSSL, whose functions can fail for lack of memory or in FIPS
 * mode; no caller could continue then.
 */
#include "base/fe_compat.h"

#include "base/checksum.h"
#include "base/hex.h"

pg_noreturn static void
fail(pg_checksum_type type)
{
	pg_fatal("could not compute %s checksum", pg_checksum_type_name(type));
}

void
checksum_begin(pg_checksum_context *context, pg_checksum_type type)
{
	if (pg_checksum_init(context, type) < 0)
		fail(type);
}

void
checksum_add(pg_checksum_context *context, const void *data, size_t len)
{
	if (pg_checksum_update(context, data, len) < 0)
		fail(context->type);
}

int
checksum_end(pg_checksum_context *context, uint8 *checksum)
{
	int			len = pg_checksum_final(context, checksum);

	if (len < 0)
		fail(context->type);
	return len;
}

char *
checksum_end_hex(pg_checksum_context *context)
{
	uint8		checksum[PG_CHECKSUM_MAX_LENGTH];
	int			len = checksum_end(context, checksum);

	return hex_encode(checksum, len);
}

char *
checksum_of(pg_checksum_type type, const void *data, size_t len)
{
	pg_checksum_context context;

	checksum_begin(&context, type);
	checksum_add(&context, data, len);
	return checksum_end_hex(&context);
}
