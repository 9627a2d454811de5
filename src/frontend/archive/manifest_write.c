/*
 * manifest_write.c
 *		Writes a manifest as JSON.
 */
#include "base/fe_compat.h"

#include <time.h>

#include "mb/pg_wchar.h"
#include "pqexpbuffer.h"

#include "archive/manifest_write.h"
#include "stream/hex.h"
#include "stream/sink_tap.h"

/* It is written in pieces of about this size. */
#define WRITE_BYTES (1024 * 1024)

static void
put_hex(PQExpBuffer buf, const void *data, size_t len)
{
	char	   *digits = hex_encode(data, len);

	appendPQExpBuffer(buf, "\"%s\"", digits);
	free(digits);
}

/* A string that is valid UTF-8 (RFC 8259, 7). */
static void
put_string(PQExpBuffer buf, const char *value)
{
	appendPQExpBufferChar(buf, '"');
	for (const char *c = value; *c; c++)
	{
		if (*c == '"' || *c == '\\')
			appendPQExpBufferChar(buf, '\\');
		if ((unsigned char) *c < 0x20 || *c == 0x7F)
			appendPQExpBuffer(buf, "\\u%04x", *c);
		else
			appendPQExpBufferChar(buf, *c);
	}
	appendPQExpBufferChar(buf, '"');
}

static bool
is_ascii(const char *value)
{
	for (; *value; value++)
		if (IS_HIGHBIT_SET(*value))
			return false;
	return true;
}

/* "name": value, where value is in the archive's encoding. */
static void
put_text(PQExpBuffer buf, const Manifest *manifest, const char *name,
		 const char *value)
{
	bool		is_utf8 = manifest->encoding &&
		pg_char_to_encoding(manifest->encoding) == PG_UTF8;

	if (value == NULL)
		appendPQExpBuffer(buf, "\"%s\": null", name);
	else if (is_ascii(value) ||
			 (is_utf8 && pg_encoding_verifymbstr(PG_UTF8, value, strlen(value)) ==
			  (int) strlen(value)))
	{
		appendPQExpBuffer(buf, "\"%s\": ", name);
		put_string(buf, value);
	}
	else
	{
		appendPQExpBuffer(buf, "\"Encoded-%s\": ", name);
		put_hex(buf, value, strlen(value));
	}
}

/* The same, after another member. */
static void
put_member(PQExpBuffer buf, const Manifest *manifest, const char *name,
		   const char *value)
{
	appendPQExpBufferStr(buf, ", ");
	put_text(buf, manifest, name, value);
}

/* ISO 8601, in UTC. */
static void
put_time(PQExpBuffer buf, const char *name, int64 us)
{
	time_t		seconds = (time_t) (us / 1000000);
	char		text[64];
	struct tm	tm;

	gmtime_r(&seconds, &tm);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	appendPQExpBuffer(buf, "\"%s\": \"%s.%06dZ\"", name, text,
					  (int) (us % 1000000));
}

static void
put_head(PQExpBuffer buf, const Manifest *manifest)
{
	appendPQExpBuffer(buf, "{ \"PgPardump-Manifest-Version\": %d,\n",
					  MANIFEST_VERSION);
	for (const ManifestText *text = manifest_head_texts; text->name; text++)
	{
		put_text(buf, manifest, text->name,
				 *(char *const *) ((const char *) manifest + text->offset));
		appendPQExpBufferStr(buf, ",\n");
	}
	put_time(buf, "Start-Time", manifest->start_us);
	appendPQExpBufferStr(buf, ",\n");
	put_time(buf, "End-Time", manifest->end_us);
	appendPQExpBuffer(buf, ",\n\"Jobs\": %d,\n\"Retries\": %d,\n",
					  manifest->jobs, manifest->retries);
	appendPQExpBuffer(buf, "\"Chunk-Bytes\": " UINT64_FORMAT ",\n",
					  manifest->chunk_bytes);
	appendPQExpBuffer(buf, "\"Checksum-Algorithm\": \"%s\",\n",
					  pg_checksum_type_name(manifest->checksum_type));
	appendPQExpBufferStr(buf, "\"Files\": [");
}

/* What another dump needs to know whether its rows are the same. */
static void
put_fingerprints(PQExpBuffer buf, const Manifest *manifest,
				 const ManifestFile *file)
{
	if (file->table_oid != 0)
		appendPQExpBuffer(buf, ", \"Table-OID\": %u, \"Relation-Blocks\": %u",
						  file->table_oid, file->relation_blocks);
	if (file->filenode != 0)
		appendPQExpBuffer(buf, ", \"Filenode\": %u, \"Tablespace\": %u",
						  file->filenode, file->tablespace);
	if (file->fingerprint)
	{
		put_member(buf, manifest, "Fingerprint", file->fingerprint);
		put_member(buf, manifest, "First-Fingerprint",
				   file->first_fingerprint);
		put_member(buf, manifest, "Definition", file->definition);
	}
	if (file->reused)
		put_member(buf, manifest, "Reused", file->reused);
}

static void
put_file(PQExpBuffer buf, const Manifest *manifest, const ManifestFile *file)
{
	appendPQExpBufferStr(buf, "{ \"Path\": ");
	put_string(buf, file->path);
	appendPQExpBuffer(buf, ", \"Kind\": \"%s\"",
					  manifest_kind_name(file->kind));
	if (file->kind == MANIFEST_ROWS)
	{
		put_member(buf, manifest, "Schema", file->schema);
		put_member(buf, manifest, "Table", file->table);
		if (file->root_table)
		{
			put_member(buf, manifest, "Root-Schema", file->root_schema);
			put_member(buf, manifest, "Root-Table", file->root_table);
		}
		if (file->where)
			put_member(buf, manifest, "Where", file->where);
		if (file->sample)
			put_member(buf, manifest, "Sample", file->sample);
		if (file->masks)
			put_member(buf, manifest, "Masks", file->masks);
		appendPQExpBuffer(buf, ", \"Start-Block\": " INT64_FORMAT,
						  file->start_block);
		if (file->end_block == MANIFEST_NO_END)
			appendPQExpBufferStr(buf, ", \"End-Block\": null");
		else
			appendPQExpBuffer(buf, ", \"End-Block\": " INT64_FORMAT,
							  file->end_block);
		appendPQExpBuffer(buf, ", \"Rows\": " UINT64_FORMAT, file->rows);
		put_fingerprints(buf, manifest, file);
	}
	appendPQExpBuffer(buf, ", \"Raw-Bytes\": " UINT64_FORMAT
					  ", \"Size\": " UINT64_FORMAT,
					  file->raw_bytes, file->stored_bytes);
	if (file->checksum_len > 0)
	{
		appendPQExpBufferStr(buf, ", \"Checksum\": ");
		put_hex(buf, file->checksum, file->checksum_len);
	}
	appendPQExpBufferStr(buf, ", ");
	put_time(buf, "Start-Time", file->start_us);
	appendPQExpBufferStr(buf, ", ");
	put_time(buf, "End-Time", file->end_us);
	appendPQExpBuffer(buf, ", \"Worker\": %d }", file->worker);
}

void
manifest_write(const Manifest *manifest, Sink *sink)
{
	pg_checksum_context checksum;
	uint8		digest[PG_CHECKSUM_MAX_LENGTH];
	volatile uint64 bytes = 0;
	PQExpBufferData buf;
	int			digest_len;
	Sink	   *tap;

	if (pg_checksum_init(&checksum, CHECKSUM_TYPE_SHA256) < 0)
		pg_fatal("could not compute a checksum");
	tap = sink_tap_new(sink, &bytes, &checksum);
	initPQExpBuffer(&buf);
	put_head(&buf, manifest);
	for (int i = 0; i < manifest->n_files; i++)
	{
		appendPQExpBufferStr(&buf, i > 0 ? ",\n" : "\n");
		put_file(&buf, manifest, &manifest->files[i]);
		/* all of it may be larger than a PQExpBuffer can be */
		if (buf.len >= WRITE_BYTES)
			sink_write_buffer(tap, &buf);
	}
	appendPQExpBufferStr(&buf, "\n],\n");
	sink_write_buffer(tap, &buf);

	digest_len = pg_checksum_final(&checksum, digest);
	appendPQExpBufferStr(&buf, "\"Manifest-Checksum\": ");
	put_hex(&buf, digest, digest_len);
	appendPQExpBufferStr(&buf, "}\n");
	sink_write_buffer(sink, &buf);
	sink_finish(tap);
	sink_free(tap);
	termPQExpBuffer(&buf);
}
