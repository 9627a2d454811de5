/*
 * test_backup_manifest.c
 *		A backup manifest is to the byte what the server writes.
 */
#include "base/fe_compat.h"

#include <sys/stat.h>
#include <unistd.h>

#include "basebackup/backup_manifest.h"
#include "unit_test.h"

#define VERSION_1 \
	"{ \"PostgreSQL-Backup-Manifest-Version\": 1,\n" \
	"\"Files\": [\n" \
	"{ \"Path\": \"base/1/1259\", \"Size\": 106496, \"Last-Modified\": " \
	"\"2026-11-23 08:00:01 GMT\", \"Checksum-Algorithm\": \"CRC32C\", " \
	"\"Checksum\": \"0123abff\" },\n" \
	"{ \"Encoded-Path\": \"62e4\", \"Size\": 0, \"Last-Modified\": " \
	"\"1970-01-01 00:00:00 GMT\" },\n" \
	"{ \"Path\": \"pg_tblspc/1/a\\\"\\\\\303\244\", \"Size\": 1099511627776, " \
	"\"Last-Modified\": \"2026-11-23 08:00:01 GMT\" }\n" \
	"],\n" \
	"\"WAL-Ranges\": [\n" \
	"{ \"Timeline\": 2, \"Start-LSN\": \"1/50\", \"End-LSN\": \"A/FF\" },\n" \
	"{ \"Timeline\": 1, \"Start-LSN\": \"0/2000028\", \"End-LSN\": \"1/50\" }\n" \
	"],\n" \
	"\"Manifest-Checksum\": " \
	"\"0bd4a29f40087a90b7ea476874abce8613d7718ce19ac8269fdb26a4a0e066f8\"}\n"

#define VERSION_2 \
	"{ \"PostgreSQL-Backup-Manifest-Version\": 2,\n" \
	"\"System-Identifier\": 18446744073709551615,\n" \
	"\"Files\": [\n" \
	"{ \"Path\": \"PG_VERSION\", \"Size\": 3, \"Last-Modified\": " \
	"\"2026-11-23 08:00:01 GMT\" }\n" \
	"],\n" \
	"\"WAL-Ranges\": [\n" \
	"{ \"Timeline\": 1, \"Start-LSN\": \"0/2000028\", \"End-LSN\": \"0/2000120\" }\n" \
	"],\n" \
	"\"Manifest-Checksum\": " \
	"\"f51d06a42a7146add95958a624a1d9d2dfe4bd1c6beb77c7f4c36a2e582dd7de\"}\n"

#define MODIFIED 1795420801

/* Its text and mode; the file is removed. */
static char *
take_file(const char *path, mode_t * mode)
{
	static char text[4 * 1024 * 1024];
	FILE	   *file = fopen(path, "r");
	struct stat st;
	size_t		len;

	if (file == NULL || fstat(fileno(file), &st) < 0)
		pg_fatal("could not open file \"%s\": %m", path);
	len = fread(text, 1, sizeof(text) - 1, file);
	text[len] = '\0';
	fclose(file);
	unlink(path);
	*mode = st.st_mode & 07777;
	return text;
}

static void
check_version_1(const char *path)
{
	BackupManifest *manifest = backup_manifest_begin(path, 16, 1);
	const uint8 bytes[4] = {0x01, 0x23, 0xab, 0xff};
	uint32		crc;
	mode_t		mode;

	memcpy(&crc, bytes, sizeof(crc));
	backup_manifest_add_file(manifest, "base/1/1259", 106496, MODIFIED, &crc);
	backup_manifest_add_file(manifest, "b\344", 0, 0, NULL);
	backup_manifest_add_file(manifest, "pg_tblspc/1/a\"\\\303\244",
							 UINT64CONST(1) << 40, MODIFIED, NULL);
	backup_manifest_add_wal_range(manifest, 2, (UINT64CONST(1) << 32) + 0x50,
								  (UINT64CONST(10) << 32) + 0xFF);
	backup_manifest_add_wal_range(manifest, 1, 0x2000028,
								  (UINT64CONST(1) << 32) + 0x50);
	backup_manifest_finish(manifest);
	is_text(take_file(path, &mode), VERSION_1, "of 16, two timelines");
	is_number(mode, 0600, "its mode");
}

static void
check_version_2(const char *path)
{
	BackupManifest *manifest = backup_manifest_begin(path, 17, PG_UINT64_MAX);
	mode_t		mode;

	backup_manifest_add_file(manifest, "PG_VERSION", 3, MODIFIED, NULL);
	backup_manifest_add_wal_range(manifest, 1, 0x2000028, 0x2000120);
	backup_manifest_finish(manifest);
	is_text(take_file(path, &mode), VERSION_2, "of 17");
}

/* More than is kept back: nothing is missing or in another order. */
static void
check_many(const char *path)
{
	BackupManifest *manifest = backup_manifest_begin(path, 17, 1);
	const char *line;
	mode_t		mode;
	int			n;

	for (n = 0; n < 10000; n++)
	{
		char		name[32];

		snprintf(name, sizeof(name), "base/1/%d", n);
		backup_manifest_add_file(manifest, name, 8192, MODIFIED, NULL);
	}
	backup_manifest_add_wal_range(manifest, 1, 1, 2);
	backup_manifest_finish(manifest);
	line = take_file(path, &mode);
	for (n = 0; (line = strstr(line, "base/1/")) != NULL; n++)
	{
		line += strlen("base/1/");
		if (atoi(line) != n)
			break;
	}
	is_number(n, 10000, "many files in their order");
}

static void
begin(const void *path)
{
	(void) backup_manifest_begin(path, 17, 1);
}

void
test_backup_manifest(void)
{
	char		dir[] = "/tmp/pg_pardump_unit.XXXXXX";
	char		path[64];

	if (mkdtemp(dir) == NULL)
		pg_fatal("could not create directory \"%s\": %m", dir);
	snprintf(path, sizeof(path), "%s/m", dir);
	check_version_1(path);
	check_version_2(path);
	check_many(path);
	rmdir(dir);
	child_ends(begin, "/nowhere/m", 1,
			   "unit_test: error: could not create file \"/nowhere/m\": No such file or directory\n",
			   "a file that cannot be");
}
