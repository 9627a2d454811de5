/*
 * backup_manifest.c
 *		Writes the backup_manifest that pg_basebackup makes, too.
 */
#include "base/fe_compat.h"

#include "common/checksum_helper.h"

#include "backup/backup_manifest.h"
#include "base/hex.h"
#include "base/message.h"
#include "stream/sink.h"

/* The server puts its system identifier into the manifest from 17 on. */
#define FIRST_MAJOR_OF_VERSION_2 17

#define FLUSH_BYTES 65536

struct BackupManifest
{
	Sink	   *file;
	Sink	   *checksummed;	/* a tap before it */
	pg_checksum_context checksum;
	uint64		bytes;			/* checksummed */
	JsonWriter	writer;			/* what is not written yet */
	int			n_files;
	int			n_ranges;
};

#define ENTRY(name, kind, member) name, kind, offsetof(BackupManifestEntry, member)

const JsonField backup_manifest_entry_fields[] = {
	{ENTRY("Path", JSON_NAME, path), JSON_REQUIRED},
	{ENTRY("Size", JSON_UINT64, size)},
	{ENTRY("Last-Modified", JSON_NAME, modified), JSON_SKIP_NULL},
	{ENTRY("Checksum-Algorithm", JSON_NAME, algorithm), JSON_SKIP_NULL},
	{ENTRY("Checksum", JSON_NAME, checksum), JSON_SKIP_NULL},
	{NULL}
};

BackupManifest *
backup_manifest_begin(const char *path, int major, uint64 system_identifier)
{
	BackupManifest *manifest = pg_malloc0(sizeof(BackupManifest));
	bool		version_2 = major >= FIRST_MAJOR_OF_VERSION_2;
	PQExpBuffer text;

	if (pg_checksum_init(&manifest->checksum, CHECKSUM_TYPE_SHA256) < 0)
		pg_fatal("could not initialize checksum of backup manifest");
	manifest->file = sink_file_new(path);
	manifest->checksummed = sink_tap_new(manifest->file, &manifest->bytes,
										 &manifest->checksum);
	text = &manifest->writer.buf;
	initPQExpBuffer(text);
	appendPQExpBuffer(text,
					  "{ \"PostgreSQL-Backup-Manifest-Version\": %d,\n",
					  version_2 ? 2 : 1);
	if (version_2)
		appendPQExpBuffer(text,
						  "\"System-Identifier\": " UINT64_FORMAT ",\n",
						  system_identifier);
	appendPQExpBufferStr(text, "\"Files\": [");
	return manifest;
}

char *
backup_manifest_time(const char *path, time_t mtime)
{
	struct tm	gmt;
	char		text[64];

	if (gmtime_r(&mtime, &gmt) == NULL ||
		strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S GMT", &gmt) == 0)
		pg_fatal("could not represent the modification time of file \"%s\"",
				 printable(path));
	return pg_strdup(text);
}

/* Servers, too, write the four bytes of a checksum as they are in memory. */
void
backup_manifest_add_file(BackupManifest *manifest, const char *path,
						 uint64 size, time_t mtime, const uint32 *crc)
{
	BackupManifestEntry entry = {
		.path = unconstify(char *, path),
		.size = size,
		.modified = backup_manifest_time(path, mtime),
		.algorithm = crc ? "CRC32C" : NULL,
		.checksum = crc ? hex_encode(crc, sizeof(*crc)) : NULL,
	};
	PQExpBuffer text = &manifest->writer.buf;

	Assert(manifest->n_ranges == 0);
	appendPQExpBufferStr(text, manifest->n_files++ > 0 ? ",\n" : "\n");
	json_append_object(&manifest->writer, backup_manifest_entry_fields, &entry);
	if (text->len >= FLUSH_BYTES)
		sink_write_buffer(manifest->checksummed, text);
	free(entry.modified);
	free(entry.checksum);
}

void
backup_manifest_add_wal_range(BackupManifest *manifest, TimeLineID timeline,
							  XLogRecPtr start, XLogRecPtr end)
{
	appendPQExpBufferStr(&manifest->writer.buf, manifest->n_ranges++ > 0 ? ",\n" :
						 "\n],\n\"WAL-Ranges\": [\n");
	appendPQExpBuffer(&manifest->writer.buf,
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
	appendPQExpBufferStr(&manifest->writer.buf, "\n],\n");
	sink_write_buffer(manifest->checksummed, &manifest->writer.buf);
	len = pg_checksum_final(&manifest->checksum, checksum);
	if (len < 0)
		pg_fatal("could not finalize checksum of backup manifest");
	digits = hex_encode(checksum, len);
	appendPQExpBuffer(&manifest->writer.buf, "\"Manifest-Checksum\": \"%s\"}\n", digits);
	free(digits);
	sink_write_buffer(manifest->file, &manifest->writer.buf);
	sink_finish(manifest->checksummed);
	sink_free(manifest->checksummed);
	termPQExpBuffer(&manifest->writer.buf);
	free(manifest);
}
