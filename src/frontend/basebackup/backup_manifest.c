/*
 * backup_manifest.c
 *		Writes and rewrites backup_manifest, in the format of pg_basebackup.
 *
 * pg_verifybackup and pg_combinebackup read the manifest.  Its last line has
 * a checksum of everything before it.  CRCs of files are combined from those
 * of their pieces, which different processes have read, without reading the
 * file again.
 */
#include "base/fe_compat.h"

#include "base/buffer.h"
#include "base/checksum.h"
#include "base/hex.h"
#include "basebackup/backup_manifest.h"
#include "stream/sink.h"

/* ----------
 * The CRC-32C of bytes whose parts were read by different processes.
 *
 * A CRC is the remainder of a polynomial over the two numbers 0 and 1.
 * Appending bytes multiplies the polynomial of the previous bytes by a power
 * of x, eight for each appended byte.  So the remainder of the previous bytes
 * is multiplied in the same way, and the CRC of the appended bytes is added
 * to it.  Coefficients are in reverse order: the highest bit belongs to x to
 * the power of 0.
 * ----------
 */

#define CRC32C_POLYNOMIAL 0x82F63B78
#define X_TO_THE_0 0x80000000
#define X_TO_THE_8 0x00800000

/* The remainder of the product of two remainders. */
static uint32
multiply(uint32 a, uint32 b)
{
	uint32		product = 0;

	for (uint32 power = X_TO_THE_0; power != 0; power >>= 1)
	{
		if (a & power)
			product ^= b;
		b = (b >> 1) ^ (b & 1 ? CRC32C_POLYNOMIAL : 0);
	}
	return product;
}

/*
 * The CRC of two parts, computed from the CRC of each.  The first one is
 * shifted by the length of the second, by repeated squaring, so the time
 * hardly depends on the length.
 */
uint32
crc32c_combine(uint32 crc1, uint32 crc2, uint64 len2)
{
	uint32		square = X_TO_THE_8;
	uint32		shift = X_TO_THE_0;

	for (; len2 > 0; len2 >>= 1)
	{
		if (len2 & 1)
			shift = multiply(shift, square);
		square = multiply(square, square);
	}
	return multiply(crc1, shift) ^ crc2;
}

/* ----------
 * The file: JSON that ends with the checksum of everything before it
 * ----------
 */

/* The text is written in parts of this size. */
#define WRITE_BYTES 65536

#define CHECKSUM_KEY "\"Manifest-Checksum\": \""

typedef struct ManifestOutput
{
	Sink	   *file;
	Sink	   *checksummed;	/* the same, with a checksum */
	pg_checksum_context checksum;
	uint64		bytes;			/* bytes in the checksum */
	JsonWriter	writer;			/* text that is not written yet */
} ManifestOutput;

static void
output_open(ManifestOutput *output, const char *path)
{
	initPQExpBuffer(&output->writer.buf);
	checksum_begin(&output->checksum, CHECKSUM_TYPE_SHA256);
	output->file = sink_file_new(path);
	output->checksummed = sink_tap_new(output->file, &output->bytes,
									   &output->checksum);
}

/* Write the text if it has at least this many bytes. */
static void
output_flush(ManifestOutput *output, size_t least)
{
	(void) buffer_text(&output->writer.buf);
	if (output->writer.buf.len >= least)
		sink_write_buffer(output->checksummed, &output->writer.buf);
}

/*
 * The line with the checksum is not part of the checksum, so it bypasses the
 * tap.
 */
static void
output_close(ManifestOutput *output)
{
	output_flush(output, 0);
	appendPQExpBuffer(&output->writer.buf, CHECKSUM_KEY "%s\"}\n",
					  checksum_end_hex(&output->checksum));
	sink_write_buffer(output->file, &output->writer.buf);
	sink_finish(output->checksummed);
	sink_free(output->checksummed);
}

/* ----------
 * The manifest of a new backup, as pg_basebackup writes it.
 * ----------
 */

/* From 17 on, the manifest contains the system identifier. */
#define FIRST_MAJOR_OF_VERSION_2 17

struct BackupManifest
{
	ManifestOutput output;
	int			n_files;
	int			n_ranges;
};

#define ENTRY(name, kind, member) name, kind, offsetof(BackupManifestEntry, member)

static const JsonField backup_manifest_entry_fields[] = {
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

	output_open(&manifest->output, path);
	text = &manifest->output.writer.buf;
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

/* A file's modification time as text; owned. */
static char *
backup_manifest_time(const char *path, time_t mtime)
{
	struct tm	gmt;
	char		text[64];

	if (gmtime_r(&mtime, &gmt) == NULL ||
		strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S GMT", &gmt) == 0)
	{
		pg_log_error("could not represent the modification time of file \"%s\"",
					 printable(path));
		pg_log_error_detail("The server reports %lld seconds since 1970-01-01, which is out of range.",
							(long long) mtime);
		pg_fatal_hint("Correct the time of this file in the server's data directory with touch.");
	}
	return pg_strdup(text);
}

/* Servers also write the four bytes of a checksum in the order of memory. */
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
	JsonWriter *writer = &manifest->output.writer;

	Assert(manifest->n_ranges == 0);
	appendPQExpBufferStr(&writer->buf, manifest->n_files++ > 0 ? ",\n" : "\n");
	json_append_object(writer, backup_manifest_entry_fields, &entry);
	output_flush(&manifest->output, WRITE_BYTES);
	free(entry.modified);
	free(entry.checksum);
}

void
backup_manifest_add_wal_range(BackupManifest *manifest, TimeLineID timeline,
							  XLogRecPtr start, XLogRecPtr end)
{
	PQExpBuffer text = &manifest->output.writer.buf;

	appendPQExpBufferStr(text, manifest->n_ranges++ > 0 ? ",\n" :
						 "\n],\n\"WAL-Ranges\": [\n");
	appendPQExpBuffer(text,
					  "{ \"Timeline\": %u, \"Start-LSN\": \"%X/%X\", \"End-LSN\": \"%X/%X\" }",
					  timeline, LSN_FORMAT_ARGS(start), LSN_FORMAT_ARGS(end));
}

void
backup_manifest_finish(BackupManifest *manifest)
{
	Assert(manifest->n_ranges > 0);
	appendPQExpBufferStr(&manifest->output.writer.buf, "\n],\n");
	output_close(&manifest->output);
}

/* ----------
 * A copy of a backup_manifest with a corrected entry of one file.
 *
 * Servers, pg_combinebackup and pg_parbasebackup write each entry of "Files"
 * in a line of its own, and the Manifest-Checksum in the last line.  So the
 * manifest is read line by line, and only one line at a time is in memory,
 * although a manifest may have hundreds of megabytes.
 * ----------
 */

/*
 * A longer line is damage.  A path has at most MAXPGPATH bytes, and JSON
 * needs at most six characters for a byte.
 */
#define MAX_LINE_BYTES (64 * 1024)

typedef struct Rewriting
{
	const char *from;
	FILE	   *in;
	PQExpBuffer line;			/* with its newline, unless the file ends
								 * without */
	pg_checksum_context read_checksum;	/* checksum of the lines so far */

	ManifestOutput output;
	const ManifestChange *change;
	int			n_entries;		/* entries for this file */
} Rewriting;

pg_noreturn static void
damaged(const Rewriting *rewriting, const char *problem)
{
	pg_log_error("file \"%s\" is damaged", rewriting->from);
	pg_log_error_detail("%s", message_sentence(problem));
	pg_fatal_hint(BACKUP_COPY_HINT);
}

/* ----------
 * Lines
 * ----------
 */

/*
 * Read a line.  Returns false at the end of the file.  The length has a
 * limit, because a damaged manifest may have gigabytes without a newline.
 */
static bool
read_line(Rewriting *rewriting)
{
	int			c;

	resetPQExpBuffer(rewriting->line);
	while ((c = getc(rewriting->in)) != EOF)
	{
		if (c == '\0')
			damaged(rewriting, "it contains a zero byte");
		if (rewriting->line->len == MAX_LINE_BYTES)
			damaged(rewriting, "a line is too long");
		appendPQExpBufferChar(rewriting->line, (char) c);
		if (c == '\n')
			break;
	}
	if (ferror(rewriting->in))
		pg_fatal("could not read file \"%s\": %m", rewriting->from);
	(void) buffer_text(rewriting->line);
	return rewriting->line->len > 0;
}

/* ----------
 * The entry
 * ----------
 */
/*
 * Is the line an entry of the file?  Other lines are copied: those before and
 * after the entries, and damaged ones.
 */
static bool
read_entry(const Rewriting *rewriting, BackupManifestEntry *entry)
{
	const char *line = rewriting->line->data;
	size_t		len = rewriting->line->len;
	JsonReader	reader;

	memset(entry, 0, sizeof(*entry));
	while (len > 0 && strchr(",\r\n", line[len - 1]) != NULL)
		len--;
	if (line[0] != '{')
		return false;
	json_read_document(&reader, line, len, backup_manifest_entry_fields, entry);
	if (reader.error == NULL && strcmp(entry->path, rewriting->change->path) == 0)
		return true;
	json_free_members(backup_manifest_entry_fields, entry);
	return false;
}

/*
 * Replace the checksum in the entry.  The old one must be right, because
 * otherwise a damaged file would get a valid checksum here.
 */
static void
correct_checksum(const Rewriting *rewriting, BackupManifestEntry *entry)
{
	const ManifestChange *change = rewriting->change;
	pg_checksum_type type = CHECKSUM_TYPE_NONE;

	if (entry->size != change->old_len)
	{
		pg_log_error("size of file \"%s\" in the backup does not match the size in file \"%s\"",
					 change->path, rewriting->from);
		pg_log_error_detail(ngettext("The file has %zu byte instead of " UINT64_FORMAT ".",
									 "The file has %zu bytes instead of " UINT64_FORMAT ".",
									 change->old_len),
							change->old_len, entry->size);
		pg_fatal_hint(BACKUP_COPY_HINT);
	}
	if (entry->algorithm == NULL && entry->checksum == NULL)
		return;
	if (entry->algorithm == NULL || entry->checksum == NULL ||
		!pg_checksum_parse_type(entry->algorithm, &type) ||
		type == CHECKSUM_TYPE_NONE)
		damaged(rewriting, "the checksum of a file is invalid");
	if (pg_strcasecmp(checksum_of(type, change->old_data, change->old_len),
					  entry->checksum) != 0)
	{
		pg_log_error("checksum of file \"%s\" in the backup does not match the checksum in file \"%s\"",
					 change->path, rewriting->from);
		pg_fatal_hint(BACKUP_COPY_HINT);
	}
	entry->checksum = checksum_of(type, change->new_data, change->new_len);
}

static void
write_entry(Rewriting *rewriting, BackupManifestEntry *entry)
{
	const ManifestChange *change = rewriting->change;

	if (++rewriting->n_entries > 1)
		damaged(rewriting, "it contains two entries for the same file");
	correct_checksum(rewriting, entry);
	entry->size = change->new_len;
	entry->modified = backup_manifest_time(change->path, change->mtime);
	json_append_object(&rewriting->output.writer, backup_manifest_entry_fields, entry);
	appendPQExpBufferStr(&rewriting->output.writer.buf, strrchr(rewriting->line->data, '}') + 1);
}

/* ----------
 * The manifest
 * ----------
 */

/* Check the last line, which contains the checksum of all lines before it. */
static void
check_checksum(Rewriting *rewriting)
{
	char	   *line = psprintf(CHECKSUM_KEY "%s\"}\n",
								checksum_end_hex(&rewriting->read_checksum));

	if (pg_strcasecmp(rewriting->line->data, line) != 0)
		damaged(rewriting, "the manifest's own checksum does not match");
	if (read_line(rewriting))
		damaged(rewriting, "its checksum is not on the last line");
}

/* Copy any other line, or correct it. */
static void
rewrite_line(Rewriting *rewriting)
{
	const PQExpBuffer line = rewriting->line;
	BackupManifestEntry entry;

	checksum_add(&rewriting->read_checksum, line->data, line->len);
	if (read_entry(rewriting, &entry))
		write_entry(rewriting, &entry);
	else
		appendBinaryPQExpBuffer(&rewriting->output.writer.buf, line->data, line->len);
	output_flush(&rewriting->output, WRITE_BYTES);
}

/* Read the next line.  Returns true if it contains the checksum. */
static bool
read_until_checksum(Rewriting *rewriting)
{
	if (!read_line(rewriting))
		damaged(rewriting, "it has no checksum");
	return strncmp(rewriting->line->data, CHECKSUM_KEY,
				   strlen(CHECKSUM_KEY)) == 0;
}

static void
open_source(Rewriting *rewriting, int fd, const char *from)
{
	rewriting->from = from;
	rewriting->in = fdopen(fd, "r");
	if (rewriting->in == NULL)
		pg_fatal("could not open file \"%s\": %m", from);
	rewriting->line = createPQExpBuffer();
	checksum_begin(&rewriting->read_checksum, CHECKSUM_TYPE_SHA256);
}

/*
 * Check whether the manifest is intact, before hours of work that end with
 * rewriting it.
 */
void
manifest_rewrite_check(int fd, const char *from)
{
	Rewriting	rewriting = {0};

	open_source(&rewriting, fd, from);
	while (!read_until_checksum(&rewriting))
		checksum_add(&rewriting.read_checksum, rewriting.line->data,
					 rewriting.line->len);
	check_checksum(&rewriting);
	fclose(rewriting.in);
}

void
manifest_rewrite(int fd, const char *from, const char *to,
				 const ManifestChange *change)
{
	Rewriting	rewriting = {0};

	rewriting.change = change;
	open_source(&rewriting, fd, from);
	output_open(&rewriting.output, to);
	while (!read_until_checksum(&rewriting))
		rewrite_line(&rewriting);
	check_checksum(&rewriting);
	if (rewriting.n_entries == 0)
	{
		pg_log_error("file \"%s\" has no entry for file \"%s\"",
					 from, change->path);
		pg_fatal_hint(BACKUP_COPY_HINT);
	}
	output_close(&rewriting.output);
	fclose(rewriting.in);
}
