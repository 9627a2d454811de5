/*
 * manifest_read.c
 *		Reads a manifest, which may be damaged, or made to deceive.
 */
#include "fe_compat.h"

#include "mb/pg_wchar.h"

#include "json_reader.h"
#include "manifest.h"

#define CHECKSUM_LINE "\"Manifest-Checksum\": \""

/* Its two hexadecimal digits, or -1. */
static int
hex_byte(const char *text)
{
	int			value = 0;

	for (int i = 0; i < 2; i++)
	{
		char		c = text[i];

		if (c >= '0' && c <= '9')
			value = value * 16 + (c - '0');
		else if (c >= 'a' && c <= 'f')
			value = value * 16 + (c - 'a' + 10);
		else
			return -1;
	}
	return value;
}

/* The bytes that hexadecimal digits stand for, -1 if they are not as many. */
static int
read_hex(const char *text, uint8 *bytes, size_t max)
{
	size_t		len = strlen(text);

	if (len % 2 != 0 || len / 2 > max)
		return -1;
	for (size_t i = 0; i < len / 2; i++)
	{
		int			byte = hex_byte(text + 2 * i);

		if (byte < 0)
			return -1;
		bytes[i] = (uint8) byte;
	}
	return (int) (len / 2);
}

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
		read_hex(hex, want, sizeof(want)) != sizeof(want))
		return false;
	if (pg_checksum_init(&checksum, CHECKSUM_TYPE_SHA256) < 0 ||
		pg_checksum_update(&checksum, (const uint8 *) text, len - line_len) < 0 ||
		pg_checksum_final(&checksum, got) != sizeof(want))
		pg_fatal("could not compute a checksum");
	return memcmp(want, got, sizeof(want)) == 0;
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

static void
replace(char **member, char *value)
{
	free(*member);
	*member = value;
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

	if (strcmp(key, "Path") == 0)
		replace(&file->path, json_string(reader));
	else if (strcmp(key, "Schema") == 0)
		replace(&file->schema, json_string(reader));
	else if (strcmp(key, "Table") == 0)
		replace(&file->table, json_string(reader));
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
		file->checksum_len = text ? read_hex(text, file->checksum,
											 sizeof(file->checksum)) : -1;
		if (file->checksum_len < 0 && reader->error == NULL)
			reader->error = "invalid checksum of a file";
	}
	else
		json_skip(reader);
	free(text);
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
	}
}

static void
read_member(JsonReader *reader, Manifest *manifest, const char *key)
{
	if (strcmp(key, "PgPardump-Manifest-Version") == 0)
	{
		if (json_number(reader) != MANIFEST_VERSION && reader->error == NULL)
			reader->error = "unknown version";
	}
	else if (strcmp(key, "Tool-Version") == 0)
		replace(&manifest->tool, json_string(reader));
	else if (strcmp(key, "Database") == 0)
		replace(&manifest->database, json_string(reader));
	else if (strcmp(key, "LSN") == 0)
		replace(&manifest->lsn, json_string(reader));
	else if (strcmp(key, "Checksum-Algorithm") == 0)
	{
		char	   *text = json_string(reader);

		if (text == NULL ||
			!pg_checksum_parse_type(text, &manifest->checksum_type))
			reader->error = "unknown checksum algorithm";
		free(text);
	}
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
	if (len > PG_INT32_MAX ||
		pg_encoding_verifymbstr(PG_UTF8, text, (int) len) != (int) len)
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
	if (reader.error == NULL && !checksums_complete(manifest))
		reader.error = "missing checksum of a file";
	*problem = reader.error;
	if (reader.error == NULL)
		return manifest;
	manifest_free(manifest);
	return NULL;
}

void
manifest_free(Manifest *manifest)
{
	for (int i = 0; i < manifest->n_files; i++)
	{
		free(manifest->files[i].path);
		free(manifest->files[i].schema);
		free(manifest->files[i].table);
	}
	free(manifest->files);
	free(manifest->tool);
	free(manifest->database);
	free(manifest->lsn);
	free(manifest);
}
