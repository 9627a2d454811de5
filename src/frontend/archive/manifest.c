/*
 * manifest.c
 *		Writes manifests, and reads manifests that may be damaged or forged.
 */
#include "base/fe_compat.h"

#include <ctype.h>

#include "mb/pg_wchar.h"

#include "archive/archive_name.h"
#include "archive/manifest.h"
#include "base/buffer.h"
#include "base/checksum.h"
#include "stream/regular_file.h"

#define CHECKSUM_LINE "\"Manifest-Checksum\": \""

/* No archive reaches these limits.  With them, sums cannot overflow. */
#define MAX_BLOCKS (UINT64CONST(1) << 32)
#define MAX_WORKERS 1000000
#define MAX_HASH_BYTES 64

/* Indexed by ManifestFileKind and by pg_checksum_type. */
static const char *const kinds[] = {"table of contents", "rows", "large object", "large object list", NULL};
static const char *const checksums[] = {"NONE", "CRC32C", "SHA224", "SHA256", "SHA384", "SHA512", NULL};

/* ----------
 * The members of a file
 * ----------
 */
static bool
has_rows(const void *file)
{
	return ((const ManifestFile *) file)->kind == MANIFEST_ROWS;
}

static bool
has_oid(const void *file)
{
	return has_rows(file) && ((const ManifestFile *) file)->table_oid != 0;
}

static bool
has_filenode(const void *file)
{
	return has_rows(file) && ((const ManifestFile *) file)->filenode != 0;
}

#define FILE_MEMBER(name, kind, member) name, kind, offsetof(ManifestFile, member)

static const JsonField file_fields[] = {
	{FILE_MEMBER("Path", JSON_NAME, path), JSON_REQUIRED},
	{FILE_MEMBER("Kind", JSON_WORD, kind), JSON_REQUIRED,.words = kinds},
	{FILE_MEMBER("Schema", JSON_NAME, schema), JSON_SKIP_NULL},
	{FILE_MEMBER("Table", JSON_NAME, table), JSON_SKIP_NULL},
	{FILE_MEMBER("Root-Schema", JSON_NAME, root_schema), JSON_SKIP_NULL},
	{FILE_MEMBER("Root-Table", JSON_NAME, root_table), JSON_SKIP_NULL},
	{FILE_MEMBER("Where", JSON_NAME, where), JSON_SKIP_NULL},
	{FILE_MEMBER("Sample", JSON_NAME, sample), JSON_SKIP_NULL},
	{FILE_MEMBER("Masks", JSON_NAME, masks), JSON_SKIP_NULL},
	{FILE_MEMBER("Start-Block", JSON_BLOCK, start_block),.max = MAX_BLOCKS,.is_written = has_rows},
	{FILE_MEMBER("End-Block", JSON_BLOCK, end_block),.min = 1,.max = MAX_BLOCKS,.is_written = has_rows},
	{FILE_MEMBER("Rows", JSON_UINT64, rows),.is_written = has_rows},
	{FILE_MEMBER("Table-OID", JSON_UINT32, table_oid),.is_written = has_oid},
	{FILE_MEMBER("Relation-Blocks", JSON_UINT32, relation_blocks),.is_written = has_oid},
	{FILE_MEMBER("Filenode", JSON_UINT32, filenode),.is_written = has_filenode},
	{FILE_MEMBER("Tablespace", JSON_UINT32, tablespace),.is_written = has_filenode},
	/* these are sent to servers, so only digits are accepted */
	{FILE_MEMBER("Fingerprint", JSON_DIGITS, fingerprint), JSON_SKIP_NULL,.max = MAX_HASH_BYTES},
	{FILE_MEMBER("First-Fingerprint", JSON_DIGITS, first_fingerprint), JSON_SKIP_NULL,.max = MAX_HASH_BYTES},
	{FILE_MEMBER("Definition", JSON_DIGITS, definition), JSON_SKIP_NULL,.max = MAX_HASH_BYTES},
	{FILE_MEMBER("Reused", JSON_NAME, reused), JSON_SKIP_NULL},
	{FILE_MEMBER("Raw-Bytes", JSON_UINT64, raw_bytes)},
	{FILE_MEMBER("Size", JSON_UINT64, stored_bytes)},
	{FILE_MEMBER("Checksum", JSON_BYTES, checksum), JSON_SKIP_NULL,.max = PG_CHECKSUM_MAX_LENGTH,
	.count = offsetof(ManifestFile, checksum_len)},
	{FILE_MEMBER("Start-Time", JSON_TIME, start_us)},
	{FILE_MEMBER("End-Time", JSON_TIME, end_us)},
	{FILE_MEMBER("Worker", JSON_INT, worker),.max = MAX_WORKERS},
	{NULL}
};

/* ----------
 * The members of a snapshot
 * ----------
 */
const JsonField manifest_snapshot_fields[] = {
	{"Snapshot", JSON_NAME, offsetof(SnapshotRecord, snapshot), JSON_REQUIRED},
	{"Time", JSON_NAME, offsetof(SnapshotRecord, time), JSON_REQUIRED},
	{"Timeline", JSON_NAME, offsetof(SnapshotRecord, timeline), JSON_SKIP_NULL},
	{"LSN-Upper-Bound", JSON_NAME, offsetof(SnapshotRecord, lsn), JSON_SKIP_NULL},
	{"Replay-LSN", JSON_NAME, offsetof(SnapshotRecord, replay_lsn), JSON_SKIP_NULL},
	{NULL}
};

static SnapshotRecord *expected_snapshot;

void
manifest_expect_snapshot(SnapshotRecord *snapshot)
{
	expected_snapshot = snapshot;
}

SnapshotRecord *
manifest_expected_snapshot(void)
{
	return expected_snapshot;
}

const char *
manifest_snapshot_problem(const Manifest *manifest)
{
	const SnapshotRecord *found = manifest->cluster_snapshot;
	const SnapshotRecord *want = expected_snapshot;

	if (want == NULL ||
		(found && strcmp(found->snapshot, want->snapshot) == 0 &&
		 strcmp(found->time, want->time) == 0))
		return NULL;
	return "file \"" MANIFEST_NAME "\" does not name the snapshot of all databases";
}

/* ----------
 * The members of the manifest
 * ----------
 */
#define MEMBER(name, kind, member) name, kind, offsetof(Manifest, member)

/* The members in the order of the file, except its own checksum. */
static const JsonField manifest_fields[] = {
	{"PgPardump-Manifest-Version", JSON_VERSION, 0, JSON_REQUIRED,.max = MANIFEST_VERSION},
	{MEMBER("Tool-Version", JSON_NAME, tool)},
	{MEMBER("Server-Version", JSON_NAME, server_version)},
	{MEMBER("Pg-Dump-Version", JSON_NAME, pg_dump_version)},
	{MEMBER("System-Identifier", JSON_NAME, system_identifier)},
	{MEMBER("Database", JSON_NAME, database)},
	{MEMBER("Encoding", JSON_NAME, encoding)},
	{MEMBER("Left-Out", JSON_NAME, left_out)},
	{MEMBER("Snapshot", JSON_NAME, snapshot)},
	{MEMBER("LSN", JSON_NAME, lsn)},
	{MEMBER("Cluster-Snapshot", JSON_OBJECT, cluster_snapshot), JSON_SKIP_NULL,.fields = manifest_snapshot_fields,
	.size = sizeof(SnapshotRecord)},
	{MEMBER("Slot", JSON_NAME, slot)},
	{MEMBER("Slot-LSN", JSON_NAME, slot_lsn)},
	{MEMBER("Compression", JSON_NAME, compression)},
	{MEMBER("Fingerprint-Algorithm", JSON_NAME, fingerprint_algorithm)},
	{MEMBER("Fingerprint-Key", JSON_DIGITS, fingerprint_key),.max = MAX_HASH_BYTES},
	{MEMBER("Settings", JSON_NAME, settings)},
	{MEMBER("History-Token", JSON_NAME, history_token)},
	{MEMBER("History-LSN", JSON_NAME, history_lsn)},
	{MEMBER("History-Timeline", JSON_NAME, history_timeline)},
	{MEMBER("History-Server-Start", JSON_NAME, history_server_start)},
	{MEMBER("History-Database", JSON_NAME, history_database)},
	{MEMBER("History-Xmax", JSON_NAME, history_xmax)},
	{MEMBER("Start-Time", JSON_TIME, start_us)},
	{MEMBER("End-Time", JSON_TIME, end_us)},
	{MEMBER("Jobs", JSON_INT, jobs),.max = MAX_WORKERS},
	{MEMBER("Retries", JSON_INT, retries)},
	{MEMBER("Chunk-Bytes", JSON_UINT64, chunk_bytes)},
	{MEMBER("Checksum-Algorithm", JSON_WORD, checksum_type), JSON_REQUIRED,.words = checksums},
	{MEMBER("Files", JSON_ARRAY, files), JSON_REQUIRED,.fields = file_fields,
	.size = sizeof(ManifestFile),.count = offsetof(Manifest, n_files)},
	{NULL}
};

pg_checksum_type
manifest_checksum_type(const Options *options)
{
	pg_checksum_type type = CHECKSUM_TYPE_CRC32C;

	/* the option parser has checked the name */
	if (options->manifest_checksums)
		(void) pg_checksum_parse_type(unconstify(char *, options->manifest_checksums),
									  &type);
	return type;
}

void
manifest_free(Manifest *manifest)
{
	json_free_members(manifest_fields, manifest);
	free(manifest->by_path);
	free(manifest);
}

/* ----------
 * Writing
 * ----------
 */
static void
manifest_flush(void *tap, PQExpBuffer buf)
{
	sink_write_buffer(tap, buf);
}

uint64
manifest_write(const Manifest *manifest, Sink *sink)
{
	JsonWriter	writer = {.not_utf8 = manifest->encoding == NULL ||
		pg_char_to_encoding(manifest->encoding) != PG_UTF8,
	.flush = manifest_flush};
	pg_checksum_context checksum;
	volatile uint64 bytes = 0;
	Sink	   *tap;

	checksum_begin(&checksum, CHECKSUM_TYPE_SHA256);
	writer.arg = tap = sink_tap_new(sink, &bytes, &checksum);
	initPQExpBuffer(&writer.buf);
	json_append_document(&writer, manifest_fields, manifest);
	appendPQExpBufferStr(&writer.buf, ",\n");
	sink_write_buffer(tap, &writer.buf);

	/*
	 * The last line does not go through the tap, because its checksum is that
	 * of all bytes before it.
	 */
	appendPQExpBuffer(&writer.buf, CHECKSUM_LINE "%s\"}\n",
					  checksum_end_hex(&checksum));
	bytes += writer.buf.len;
	sink_write_buffer(sink, &writer.buf);
	sink_finish(tap);
	sink_free(tap);
	termPQExpBuffer(&writer.buf);
	return bytes;
}

/* ----------
 * Reading
 * ----------
 */

/* Does the last line contain the SHA256 of all bytes before it? */
static bool
own_checksum_right(const char *text, size_t len)
{
	const size_t line_len = strlen(CHECKSUM_LINE) +
		2 * PG_SHA256_DIGEST_LENGTH + strlen("\"}\n");
	const char *line;
	char	   *digits;
	bool		right;

	if (len < line_len)
		return false;
	line = text + len - line_len;
	digits = checksum_of(CHECKSUM_TYPE_SHA256, text, len - line_len);
	right = memcmp(line, CHECKSUM_LINE, strlen(CHECKSUM_LINE)) == 0 &&
		memcmp(line + strlen(CHECKSUM_LINE), digits, strlen(digits)) == 0 &&
		memcmp(text + len - 3, "\"}\n", 3) == 0;
	free(digits);
	return right;
}

/*
 * Is this a plain file name, which cannot lead to another directory or break
 * a line of the terminal?
 */
static bool
is_plain_name(const char *path)
{
	if (path == NULL || path[0] == '\0' || path[0] == '.' ||
		strlen(path) > 200)
		return false;
	for (; *path; path++)
		if (*path == '/' || (unsigned char) *path <= ' ' || *path == 0x7F ||
			IS_HIGHBIT_SET(*path))
			return false;
	return true;
}

/*
 * Check that every file has a plain name, and a checksum of the kind that the
 * head of the manifest names.
 */
static void
check_files(JsonReader *reader, const Manifest *manifest)
{
	static const int lengths[] = {
		[CHECKSUM_TYPE_NONE] = 0,
		[CHECKSUM_TYPE_CRC32C] = sizeof(pg_crc32c),
		[CHECKSUM_TYPE_SHA224] = PG_SHA224_DIGEST_LENGTH,
		[CHECKSUM_TYPE_SHA256] = PG_SHA256_DIGEST_LENGTH,
		[CHECKSUM_TYPE_SHA384] = PG_SHA384_DIGEST_LENGTH,
		[CHECKSUM_TYPE_SHA512] = PG_SHA512_DIGEST_LENGTH,
	};

	for (int i = 0; i < manifest->n_files && reader->error == NULL; i++)
		if (!is_plain_name(manifest->files[i].path))
			json_fail(reader, "the manifest contains an invalid file name");
	for (int i = 0; i < manifest->n_files && reader->error == NULL; i++)
		if (manifest->files[i].checksum_len != lengths[manifest->checksum_type])
			json_fail(reader, "the manifest does not contain the checksum of a file");
}

static int
manifest_compare_paths(const void *a, const void *b)
{
	const ManifestFile *f1 = *(const ManifestFile *const *) a;
	const ManifestFile *f2 = *(const ManifestFile *const *) b;

	return strcmp(f1->path, f2->path);
}

static void
sort_files(Manifest *manifest)
{
	manifest->by_path = pg_malloc((manifest->n_files + 1) * sizeof(ManifestFile *));
	for (int i = 0; i < manifest->n_files; i++)
		manifest->by_path[i] = &manifest->files[i];
	qsort(manifest->by_path, manifest->n_files, sizeof(ManifestFile *),
		  manifest_compare_paths);
}

const ManifestFile *
manifest_find(const Manifest *manifest, const char *name)
{
	for (int i = COMPRESS_NONE; i < N_COMPRESS_METHODS; i++)
	{
		ManifestFile key = {.path = archive_name_compressed(name, i)};
		const ManifestFile *pointer = &key;
		const ManifestFile **found = bsearch(&pointer, manifest->by_path,
											 manifest->n_files,
											 sizeof(ManifestFile *),
											 manifest_compare_paths);

		free(key.path);
		if (found)
			return *found;
	}
	return NULL;
}

Manifest *
manifest_read(const char *text, size_t len, const char **problem)
{
	Manifest   *manifest;
	JsonReader	reader;

	/*
	 * Check this before parsing.  Errors that are found later are those of
	 * another version, or of someone who has edited the manifest.
	 */
	if (!own_checksum_right(text, len))
	{
		*problem = "the manifest's own checksum does not match";
		return NULL;
	}
	manifest = pg_malloc0(sizeof(Manifest));
	json_read_document(&reader, text, len, manifest_fields, manifest);
	check_files(&reader, manifest);
	*problem = reader.error;
	if (reader.error == NULL)
	{
		sort_files(manifest);
		return manifest;
	}
	manifest_free(manifest);
	return NULL;
}

/* ----------
 * Reading the manifest of an archive in a directory.
 * ----------
 */

Manifest *
manifest_load(const char *directory, bool *exists, const char **problem)
{
	int			fd = regular_file_open(AT_FDCWD,
									   psprintf("%s/%s", directory, MANIFEST_NAME),
									   problem);
	Manifest   *manifest = NULL;
	char	   *text;
	size_t		len;

	*exists = fd >= 0 || errno != ENOENT;
	if (fd < 0)
		return NULL;
	text = regular_file_read_text(fd, &len);
	if (text == NULL)
		*problem = psprintf("could not read file \"%s\": %s", MANIFEST_NAME,
							strerror(errno));
	else
		manifest = manifest_read(text, len, problem);
	free(text);
	close(fd);
	return manifest;
}

/* ----------
 * The name of a table, for messages
 * ----------
 */

/*
 * Quote the name if SQL requires it, except for key words.  fmtId() cannot be
 * used, because it must know the encoding, and rejects invalid bytes.
 */
static void
append_identifier(PQExpBuffer buf, const char *name)
{
	size_t		plain = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");

	if (plain > 0 && name[plain] == '\0' && !isdigit((unsigned char) name[0]))
	{
		appendPQExpBufferStr(buf, name);
		return;
	}
	appendPQExpBufferChar(buf, '"');
	for (; *name; name++)
	{
		if (*name == '"')
			appendPQExpBufferChar(buf, '"');
		appendPQExpBufferChar(buf, *name);
	}
	appendPQExpBufferChar(buf, '"');
}

char *
manifest_name_table(const char *schema, const char *table)
{
	PQExpBufferData buf = buffer_new();

	append_identifier(&buf, schema ? schema : "");
	appendPQExpBufferChar(&buf, '.');
	append_identifier(&buf, table ? table : "");
	return buffer_text(&buf);
}
