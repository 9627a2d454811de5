/*
 * manifest_read.c
 *		Reads a manifest, which may be damaged, or made to deceive.
 */
#include "base/fe_compat.h"

#include <time.h>

#include "mb/pg_wchar.h"

#include "archive/manifest_read.h"
#include "base/json_reader.h"
#include "stream/hex.h"

/* Limits that no archive comes near, so that sums cannot overflow. */
#define MAX_BLOCKS ((uint64) 1 << 32)
#define MAX_WORKERS 1000000
#define MAX_HASH_BYTES 64

#define CHECKSUM_LINE "\"Manifest-Checksum\": \""

/* The last line must be the SHA256 of all before it. */
static bool
own_checksum_right(const char *text, size_t len)
{
	const size_t line_len = strlen(CHECKSUM_LINE) +
		2 * PG_SHA256_DIGEST_LENGTH + strlen("\"}\n");
	char		hex[2 * PG_SHA256_DIGEST_LENGTH + 1];
	uint8		want[PG_SHA256_DIGEST_LENGTH];
	uint8		got[PG_CHECKSUM_MAX_LENGTH];
	pg_checksum_context checksum;
	const char *line;

	if (len < line_len)
		return false;
	line = text + len - line_len;
	memcpy(hex, line + strlen(CHECKSUM_LINE), sizeof(hex) - 1);
	hex[sizeof(hex) - 1] = '\0';
	if (memcmp(line, CHECKSUM_LINE, strlen(CHECKSUM_LINE)) != 0 ||
		memcmp(text + len - 3, "\"}\n", 3) != 0 ||
		hex_decode(hex, want, sizeof(want)) != sizeof(want))
		return false;
	if (pg_checksum_init(&checksum, CHECKSUM_TYPE_SHA256) < 0 ||
		pg_checksum_update(&checksum, (const uint8 *) text, len - line_len) < 0 ||
		pg_checksum_final(&checksum, got) != sizeof(want))
		pg_fatal("could not compute a checksum");
	return memcmp(want, got, sizeof(want)) == 0;
}

/* Line by line, as all of it may have more bytes than an int can count. */
static bool
is_utf8(const char *text, size_t len)
{
	const char *end = text + len;

	while (text < end)
	{
		const char *newline = memchr(text, '\n', end - text);
		size_t		line_len = (newline ? newline + 1 : end) - text;

		if (line_len > PG_INT32_MAX ||
			pg_encoding_verifymbstr(PG_UTF8, text, (int) line_len) != (int) line_len)
			return false;
		text += line_len;
	}
	return true;
}

/* A plain file name: never leaves the directory, nor a terminal's line. */
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
 * The text that put_text() wrote in hexadecimal, in the archive's encoding.
 */
static char *
read_encoded(JsonReader *reader)
{
	char	   *hex = json_string(reader);
	size_t		len = hex ? strlen(hex) : 0;
	char	   *text = pg_malloc0(len / 2 + 1);

	if (hex && hex_decode(hex, (uint8 *) text, len / 2) < 0 &&
		reader->error == NULL)
		reader->error = "invalid encoded name";
	free(hex);
	return text;
}

/* Is it one of these?  Then it is read into *object. */
static bool
read_text(JsonReader *reader, const ManifestText *texts, void *object,
		  const char *key)
{
	bool		is_encoded = strncmp(key, "Encoded-", strlen("Encoded-")) == 0;

	if (is_encoded)
		key += strlen("Encoded-");
	for (; texts->name; texts++)
	{
		char	  **member = (char **) ((char *) object + texts->offset);

		if (strcmp(key, texts->name) != 0)
			continue;
		free(*member);
		*member = is_encoded ? read_encoded(reader) : json_string(reader);
		return true;
	}
	return false;
}

/* A number up to max; what is more is an error. */
static uint64
read_number(JsonReader *reader, uint64 max)
{
	uint64		number = json_number(reader);

	if (number > max && reader->error == NULL)
		reader->error = "number out of range";
	return number > max ? 0 : number;
}

/* As put_time() writes it. */
static int64
read_time(JsonReader *reader)
{
	char	   *text = json_string(reader);
	struct tm	tm = {0};
	int			us = 0;
	int			end = 0;
	int64		time = 0;

	if (text && sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d.%6dZ%n",
					   &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour,
					   &tm.tm_min, &tm.tm_sec, &us, &end) == 7 &&
		end == (int) strlen(text) && tm.tm_year >= 1970)
	{
		tm.tm_year -= 1900;
		tm.tm_mon -= 1;
		time = (int64) timegm(&tm) * 1000000 + us;
	}
	else if (reader->error == NULL)
		reader->error = "invalid time";
	free(text);
	return time;
}

static bool
read_kind(const char *text, ManifestFileKind *kind)
{
	for (int i = MANIFEST_TOC; i <= MANIFEST_OBJECT_LIST; i++)
	{
		*kind = (ManifestFileKind) i;
		if (text && strcmp(text, manifest_kind_name(*kind)) == 0)
			return true;
	}
	return false;
}

static void
read_file_member(JsonReader *reader, ManifestFile *file, const char *key)
{
	char	   *text = NULL;

	if (read_text(reader, manifest_file_texts, file, key))
		return;
	if (strcmp(key, "Start-Block") == 0)
		file->start_block = (int64) read_number(reader, MAX_BLOCKS);
	else if (strcmp(key, "End-Block") == 0)
	{
		/* null is read as 0, and no range ends there */
		file->end_block = (int64) read_number(reader, MAX_BLOCKS);
		if (file->end_block == 0)
			file->end_block = MANIFEST_NO_END;
	}
	else if (strcmp(key, "Table-OID") == 0)
		file->table_oid = (Oid) read_number(reader, PG_UINT32_MAX);
	else if (strcmp(key, "Filenode") == 0)
		file->filenode = (Oid) read_number(reader, PG_UINT32_MAX);
	else if (strcmp(key, "Tablespace") == 0)
		file->tablespace = (Oid) read_number(reader, PG_UINT32_MAX);
	else if (strcmp(key, "Relation-Blocks") == 0)
		file->relation_blocks =
			(BlockNumber) read_number(reader, InvalidBlockNumber);
	else if (strcmp(key, "Start-Time") == 0)
		file->start_us = read_time(reader);
	else if (strcmp(key, "End-Time") == 0)
		file->end_us = read_time(reader);
	else if (strcmp(key, "Worker") == 0)
		file->worker = (int) read_number(reader, MAX_WORKERS);
	else if (strcmp(key, "Rows") == 0)
		file->rows = json_number(reader);
	else if (strcmp(key, "Raw-Bytes") == 0)
		file->raw_bytes = json_number(reader);
	else if (strcmp(key, "Size") == 0)
		file->stored_bytes = json_number(reader);
	else if (strcmp(key, "Kind") == 0)
	{
		text = json_string(reader);
		if (!read_kind(text, &file->kind) && reader->error == NULL)
			reader->error = "unknown kind of file";
	}
	else if (strcmp(key, "Checksum") == 0)
	{
		text = json_string(reader);
		file->checksum_len = text ? hex_decode(text, file->checksum,
											   sizeof(file->checksum)) : -1;
		if (file->checksum_len < 0 && reader->error == NULL)
			reader->error = "invalid checksum of a file";
	}
	else
		json_skip(reader);
	free(text);
}

/* Servers get it as it is: it must be as it was written. */
static void
check_hash(JsonReader *reader, const char *hash)
{
	uint8		bytes[MAX_HASH_BYTES];

	if (hash && hex_decode(hash, bytes, sizeof(bytes)) < 0 &&
		reader->error == NULL)
		reader->error = "invalid fingerprint";
}

static void
read_files(JsonReader *reader, Manifest *manifest)
{
	bool		first = true;
	int			space = manifest->n_files;

	json_enter(reader, '[');
	while (json_more(reader, ']', &first))
	{
		bool		first_member = true;
		ManifestFile *file;

		if (manifest->n_files == space)
		{
			space = Max(64, space * 2);
			manifest->files = pg_realloc(manifest->files,
										 space * sizeof(ManifestFile));
		}
		file = &manifest->files[manifest->n_files++];
		memset(file, 0, sizeof(ManifestFile));
		json_enter(reader, '{');
		while (json_more(reader, '}', &first_member))
		{
			char	   *key = json_key(reader);

			if (key)
				read_file_member(reader, file, key);
			free(key);
		}
		if (!is_plain_name(file->path) && reader->error == NULL)
			reader->error = "invalid file name";
		check_hash(reader, file->fingerprint);
		check_hash(reader, file->first_fingerprint);
		check_hash(reader, file->definition);
	}
}

static void
read_member(JsonReader *reader, Manifest *manifest, const char *key)
{
	if (read_text(reader, manifest_head_texts, manifest, key))
		return;
	if (strcmp(key, "PgPardump-Manifest-Version") == 0)
	{
		if (json_number(reader) != MANIFEST_VERSION && reader->error == NULL)
			reader->error = "unknown version";
	}
	else if (strcmp(key, "Start-Time") == 0)
		manifest->start_us = read_time(reader);
	else if (strcmp(key, "End-Time") == 0)
		manifest->end_us = read_time(reader);
	else if (strcmp(key, "Jobs") == 0)
		manifest->jobs = (int) read_number(reader, MAX_WORKERS);
	else if (strcmp(key, "Retries") == 0)
		manifest->retries = (int) read_number(reader, PG_INT32_MAX);
	else if (strcmp(key, "Checksum-Algorithm") == 0)
	{
		char	   *text = json_string(reader);

		if (text == NULL ||
			!pg_checksum_parse_type(text, &manifest->checksum_type))
			reader->error = "unknown checksum algorithm";
		free(text);
	}
	else if (strcmp(key, "Chunk-Bytes") == 0)
		manifest->chunk_bytes = json_number(reader);
	else if (strcmp(key, "Files") == 0)
		read_files(reader, manifest);
	else
		json_skip(reader);
}

/* Every file has the checksum that the head promises. */
static bool
checksums_complete(const Manifest *manifest)
{
	static const int lengths[] = {
		[CHECKSUM_TYPE_NONE] = 0,
		[CHECKSUM_TYPE_CRC32C] = sizeof(pg_crc32c),
		[CHECKSUM_TYPE_SHA224] = PG_SHA224_DIGEST_LENGTH,
		[CHECKSUM_TYPE_SHA256] = PG_SHA256_DIGEST_LENGTH,
		[CHECKSUM_TYPE_SHA384] = PG_SHA384_DIGEST_LENGTH,
		[CHECKSUM_TYPE_SHA512] = PG_SHA512_DIGEST_LENGTH,
	};

	for (int i = 0; i < manifest->n_files; i++)
		if (manifest->files[i].checksum_len != lengths[manifest->checksum_type])
			return false;
	return true;
}

Manifest *
manifest_read(const char *text, size_t len, const char **problem)
{
	Manifest   *manifest;
	JsonReader	reader;
	bool		first = true;

	if (!own_checksum_right(text, len))
	{
		*problem = "its own checksum does not match";
		return NULL;
	}
	if (!is_utf8(text, len))
	{
		*problem = "it is not valid UTF-8";
		return NULL;
	}
	manifest = pg_malloc0(sizeof(Manifest));
	json_begin(&reader, text, len);
	json_enter(&reader, '{');
	while (json_more(&reader, '}', &first))
	{
		char	   *key = json_key(&reader);

		if (key)
			read_member(&reader, manifest, key);
		free(key);
	}
	json_finish(&reader);
	check_hash(&reader, manifest->fingerprint_key);
	if (reader.error == NULL && !checksums_complete(manifest))
		reader.error = "missing checksum of a file";
	*problem = reader.error;
	if (reader.error == NULL)
		return manifest;
	manifest_free(manifest);
	return NULL;
}
