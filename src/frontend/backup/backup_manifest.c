/*
 * backup_manifest.c
 *		Writes the backup_manifest that pg_basebackup makes, too.
 */
#include "base/fe_compat.h"

#include "common/checksum_helper.h"
#include "mb/pg_wchar.h"
#include "pqexpbuffer.h"

#include "backup/backup_manifest.h"
#include "base/json_text.h"
#include "base/printable.h"
#include "base/hex.h"
#include "stream/sink_file.h"
#include "stream/sink_tap.h"

/* The server puts its system identifier into the manifest from 17 on. */
#define FIRST_MAJOR_OF_VERSION_2 17

#define FLUSH_BYTES 65536

struct BackupManifest
{
	Sink	   *file;
	Sink	   *checksummed;	/* a tap before it */
	pg_checksum_context checksum;
	uint64		bytes;			/* checksummed */
	PQExpBuffer text;			/* not written yet */
	int			n_files;
	int			n_ranges;
};

BackupManifest *
backup_manifest_begin(const char *path, int major, uint64 system_identifier)
{
	BackupManifest *manifest = pg_malloc0(sizeof(BackupManifest));
	bool		version_2 = major >= FIRST_MAJOR_OF_VERSION_2;

	if (pg_checksum_init(&manifest->checksum, CHECKSUM_TYPE_SHA256) < 0)
		pg_fatal("could not initialize checksum of backup manifest");
	manifest->file = sink_file_new(path);
	manifest->checksummed = sink_tap_new(manifest->file, &manifest->bytes,
										 &manifest->checksum);
	manifest->text = createPQExpBuffer();
	appendPQExpBuffer(manifest->text,
					  "{ \"PostgreSQL-Backup-Manifest-Version\": %d,\n",
					  version_2 ? 2 : 1);
	if (version_2)
		appendPQExpBuffer(manifest->text,
						  "\"System-Identifier\": " UINT64_FORMAT ",\n",
						  system_identifier);
	appendPQExpBufferStr(manifest->text, "\"Files\": [");
	return manifest;
}

/* JSON is UTF-8, and a path any bytes: those that are none are encoded. */
static void
append_path(PQExpBuffer text, const char *path)
{
	int			len = (int) strlen(path);

	if (pg_encoding_verifymbstr(PG_UTF8, path, len) == len)
	{
		appendPQExpBufferStr(text, "\"Path\": ");
		json_append_text(text, path, 0);
	}
	else
	{
		char	   *digits = hex_encode(path, len);

		appendPQExpBuffer(text, "\"Encoded-Path\": \"%s\"", digits);
		free(digits);
	}
}

/* The four bytes as they are in memory: so the server writes them. */
static void
append_checksum(PQExpBuffer text, uint32 crc)
{
	char	   *digits = hex_encode(&crc, sizeof(crc));

	appendPQExpBuffer(text, ", \"Checksum-Algorithm\": \"CRC32C\", \"Checksum\": \"%s\"",
					  digits);
	free(digits);
}

void
backup_manifest_add_file(BackupManifest *manifest, const char *path,
						 uint64 size, time_t mtime, const uint32 *crc)
{
	PQExpBuffer text = manifest->text;
	struct tm	gmt;
	char		modified[64];

	Assert(manifest->n_ranges == 0);
	if (gmtime_r(&mtime, &gmt) == NULL ||
		strftime(modified, sizeof(modified), "%Y-%m-%d %H:%M:%S GMT", &gmt) == 0)
		pg_fatal("could not represent the modification time of file \"%s\"",
				 printable(path));
	appendPQExpBufferStr(text, manifest->n_files++ > 0 ? ",\n{ " : "\n{ ");
	append_path(text, path);
	appendPQExpBuffer(text, ", \"Size\": " UINT64_FORMAT ", \"Last-Modified\": \"%s\"",
					  size, modified);
	if (crc)
		append_checksum(text, *crc);
	appendPQExpBufferStr(text, " }");
	if (text->len >= FLUSH_BYTES)
		sink_write_buffer(manifest->checksummed, text);
}

void
backup_manifest_add_wal_range(BackupManifest *manifest, TimeLineID timeline,
							  XLogRecPtr start, XLogRecPtr end)
{
	appendPQExpBufferStr(manifest->text, manifest->n_ranges++ > 0 ? ",\n" :
						 "\n],\n\"WAL-Ranges\": [\n");
	appendPQExpBuffer(manifest->text,
					  "{ \"Timeline\": %u, \"Start-LSN\": \"%X/%X\", \"End-LSN\": \"%X/%X\" }",
					  timeline, LSN_FORMAT_ARGS(start), LSN_FORMAT_ARGS(end));
}

/* The checksum is of all that comes before its own line. */
void
backup_manifest_finish(BackupManifest *manifest)
{
	uint8		checksum[PG_CHECKSUM_MAX_LENGTH];
	int			len;
	char	   *digits;

	Assert(manifest->n_ranges > 0);
	appendPQExpBufferStr(manifest->text, "\n],\n");
	sink_write_buffer(manifest->checksummed, manifest->text);
	len = pg_checksum_final(&manifest->checksum, checksum);
	if (len < 0)
		pg_fatal("could not finalize checksum of backup manifest");
	digits = hex_encode(checksum, len);
	appendPQExpBuffer(manifest->text, "\"Manifest-Checksum\": \"%s\"}\n", digits);
	free(digits);
	sink_write_buffer(manifest->file, manifest->text);
	sink_finish(manifest->checksummed);
	sink_free(manifest->checksummed);
	destroyPQExpBuffer(manifest->text);
	free(manifest);
}
