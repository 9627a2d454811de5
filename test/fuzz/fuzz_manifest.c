/*
 * fuzz_manifest.c
 *		manifest_read() on any bytes, with the checksum that belongs to them,
 *		as else nothing would come through to the parser.
 */
#include "base/fe_compat.h"

#include "archive/manifest.h"

extern int	LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
try_read(const char *text, size_t len)
{
	const char *problem = NULL;
	Manifest   *manifest = manifest_read(text, len, &problem);

	if (manifest)
		manifest_free(manifest);
	else if (problem == NULL)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char line[] = "\"Manifest-Checksum\": \"";
	pg_checksum_context checksum;
	uint8		digest[PG_CHECKSUM_MAX_LENGTH];
	char	   *text = pg_malloc0(size + 128);
	char	   *pos = text + size;

	memcpy(text, data, size);
	try_read(text, size);
	pg_checksum_init(&checksum, CHECKSUM_TYPE_SHA256);
	pg_checksum_update(&checksum, data, size);
	pg_checksum_final(&checksum, digest);
	pos += sprintf(pos, "%s", line);
	for (int i = 0; i < PG_SHA256_DIGEST_LENGTH; i++)
		pos += sprintf(pos, "%02x", digest[i]);
	pos += sprintf(pos, "\"}\n");
	try_read(text, pos - text);
	free(text);
	return 0;
}
