/*
 * toc_write.c
 *		Writes the table of contents of a directory archive.
 */
#include "base/fe_compat.h"

#include "pqexpbuffer.h"

#include "toc/toc_write.h"

/* It is written in pieces of about this size. */
#define WRITE_BYTES (1024 * 1024)

static void
put_byte(PQExpBuffer buf, int value)
{
	appendPQExpBufferChar(buf, (char) value);
}

static void
put_int(PQExpBuffer buf, int value)
{
	uint32		magnitude = value < 0 ? -(uint32) value : (uint32) value;

	put_byte(buf, value < 0 ? 1 : 0);
	for (int i = 0; i < 4; i++, magnitude >>= 8)
		put_byte(buf, magnitude & 0xFF);
}

static void
put_string(PQExpBuffer buf, const char *value)
{
	if (value == NULL)
	{
		put_int(buf, -1);
		return;
	}
	put_int(buf, (int) strlen(value));
	appendBinaryPQExpBuffer(buf, value, strlen(value));
}

static void
put_number_string(PQExpBuffer buf, const char *format, uint32 value)
{
	char		text[16];

	snprintf(text, sizeof(text), format, value);
	put_string(buf, text);
}

static void
put_head(PQExpBuffer buf, const Toc *toc, const CompressSpec *compress)
{
	char	   *version = psprintf("%s" TOC_MARK PARDUMP_VERSION,
								   toc->pg_dump_version);

	appendPQExpBufferStr(buf, TOC_MAGIC);
	put_byte(buf, 1);
	put_byte(buf, toc->minor);
	put_byte(buf, toc->revision);
	put_byte(buf, 4);			/* size of an integer */
	put_byte(buf, toc->offset_size);
	put_byte(buf, TOC_FORMAT_TAR);
	if (toc->minor >= 15)
		put_byte(buf, compress->method);
	else
		put_int(buf, compress->level);	/* gzip level, 0 = none */
	for (int i = 0; i < (int) lengthof(toc->created); i++)
		put_int(buf, toc->created[i]);
	put_string(buf, toc->dbname);
	put_string(buf, toc->server_version);
	put_string(buf, version);
	free(version);
}

static void
put_entry(PQExpBuffer buf, const Toc *toc, const TocEntry *entry)
{
	put_int(buf, entry->dump_id);
	put_int(buf, entry->had_dumper ? 1 : 0);
	put_number_string(buf, "%u", entry->catalog_oid);
	put_number_string(buf, "%u", entry->oid);
	put_string(buf, entry->tag);
	put_string(buf, entry->desc);
	put_int(buf, entry->section);
	put_string(buf, entry->defn);
	put_string(buf, entry->drop_stmt);
	put_string(buf, entry->copy_stmt);
	put_string(buf, entry->namespace);
	put_string(buf, entry->tablespace);
	put_string(buf, entry->tableam);
	if (toc->minor >= 16)
		put_int(buf, entry->relkind);
	put_string(buf, entry->owner);
	put_string(buf, "false");	/* WITH OIDS */
	for (int i = 0; i < entry->n_deps; i++)
		put_number_string(buf, "%d", entry->deps[i]);
	put_string(buf, NULL);
	put_string(buf, entry->filename ? entry->filename : "");
}

void
toc_write(const Toc *toc, const CompressSpec *compress, Sink *sink)
{
	PQExpBufferData buf;

	initPQExpBuffer(&buf);
	put_head(&buf, toc, compress);
	put_int(&buf, toc->n_entries);
	for (int i = 0; i < toc->n_entries; i++)
	{
		put_entry(&buf, toc, &toc->entries[i]);
		/* all of it may be larger than a PQExpBuffer can be: 2 GB */
		if (buf.len >= WRITE_BYTES)
			sink_write_buffer(sink, &buf);
	}
	sink_write_buffer(sink, &buf);
	termPQExpBuffer(&buf);
}
