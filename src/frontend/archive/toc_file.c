/*
 * toc_file.c
 *		Reads the table of contents from pg_dump's output or from an archive,
 *		and writes toc.dat.
 */
#include "base/fe_compat.h"

#include "archive/toc_file.h"
#include "base/buffer.h"

/* ----------
 * Reading a table of contents.
 *
 * pg_dump writes toc.dat of a directory archive before any data, so it lists
 * exactly what pg_dump will dump.  A custom archive begins with the same
 * data.  The input may be damaged or made by an attacker, so lengths and
 * counts are checked before they are used.
 * ----------
 */

/*
 * The limit for dump IDs, which are array indexes.  No database has that many
 * objects.
 */
#define MAX_DUMP_ID (1 << 28)

/* PostgreSQL's limit for a value, so no name or statement is longer. */
#define MAX_STRING_BYTES ((int) 1024 * 1024 * 1024 - 1)

/*
 * Long strings are read in steps of this size, so that a wrong length does
 * not allocate memory for data that does not exist.
 */
#define STRING_STEP_BYTES (1024 * 1024)

typedef struct TocReader
{
	TocReadCallback read;
	void	   *arg;
	int			format;
	bool		of_pg_dump;		/* read from pg_dump: errors exit */
	bool		at_end;			/* end of input; all reads return zeros */
	const char *error;			/* what is wrong with a file */
} TocReader;

static void
read_bytes(TocReader *reader, void *buf, size_t len)
{
	if (!reader->at_end && reader->read(reader->arg, buf, len) != len)
		reader->at_end = true;

	/*
	 * Callers check for the end only at a few places.  Zeros give the others
	 * defined values: empty strings, and the end of lists.
	 */
	if (reader->at_end)
		memset(buf, 0, len);
}

/*
 * Report invalid input.  If it comes from pg_dump, exit, because the dump
 * cannot continue; if it comes from a file, the caller gets the error.
 */
static void
bad(TocReader *reader, const char *what)
{
	if (reader->at_end)
		return;
	if (reader->of_pg_dump)
		toc_reject_pg_dump(message_sentence(what));
	reader->error = what;
	reader->at_end = true;
}

static int
read_byte(TocReader *reader)
{
	unsigned char byte;

	read_bytes(reader, &byte, 1);
	return byte;
}

/* A number is a sign byte and four bytes, the lowest first (ReadInt). */
static int
read_int(TocReader *reader)
{
	unsigned char bytes[5];
	uint32		value;

	read_bytes(reader, bytes, sizeof(bytes));
	value = bytes[1] | (uint32) bytes[2] << 8 | (uint32) bytes[3] << 16 |
		(uint32) bytes[4] << 24;
	if (value > PG_INT32_MAX)
	{
		bad(reader, "it contains an invalid number");
		return 0;
	}
	return bytes[0] ? -(int) value : (int) value;
}

/* A string is its length, or -1 for NULL, and its bytes (ReadStr). */
static char *
read_string(TocReader *reader)
{
	int			len = read_int(reader);
	char	   *result;
	int			done = 0;

	if (len < 0)
		return NULL;
	if (len > MAX_STRING_BYTES)
	{
		bad(reader, "it contains an invalid string length");
		len = 0;
	}
	result = pg_malloc(Min(len, STRING_STEP_BYTES) + 1);
	while (done < len && !reader->at_end)
	{
		int			part = Min(len - done, STRING_STEP_BYTES);

		if (done > 0)
			result = pg_realloc(result, (size_t) done + part + 1);
		read_bytes(reader, result + done, part);
		done += part;
	}
	result[done] = '\0';
	return result;
}

/* Read a string that must not be NULL. */
static char *
read_name(TocReader *reader, const char *what)
{
	char	   *result = read_string(reader);

	if (result == NULL)
		bad(reader, what);
	return result ? result : pg_strdup("");
}

static Oid
read_oid(TocReader *reader)
{
	char	   *text = read_name(reader, "an entry has no object identifier");
	Oid			result = (Oid) strtoul(text, NULL, 10);

	free(text);
	return result;
}

static void
read_head(TocReader *reader, Toc *toc)
{
	char		magic[sizeof(TOC_MAGIC) - 1];
	int			major;
	int			int_size;
	int			format;
	int			value;

	read_bytes(reader, magic, sizeof(magic));
	if (reader->at_end)
		return;
	if (memcmp(magic, TOC_MAGIC, sizeof(magic)) != 0)
	{
		if (reader->of_pg_dump)
			toc_reject_pg_dump("It is not an archive.");
		bad(reader, "it is not an archive");
		return;
	}
	major = read_byte(reader);
	toc->minor = read_byte(reader);
	toc->revision = read_byte(reader);
	int_size = read_byte(reader);
	toc->offset_size = read_byte(reader);
	format = read_byte(reader);
	if (reader->at_end)
		return;
	if (major != 1 || toc->minor < 14 || toc->minor > 16)
	{
		if (!reader->of_pg_dump)
		{
			bad(reader, TOC_READ_UNSUPPORTED);
			return;
		}
		toc_reject_pg_dump(psprintf("Archive format %d.%d is not supported.",
									major, toc->minor));
	}
	if (int_size != 4 || toc->offset_size < 1 || toc->offset_size > 8 ||
		format != reader->format)
	{
		if (reader->of_pg_dump)
			toc_reject_pg_dump(reader->format == TOC_FORMAT_CUSTOM ?
							   "It is not an archive in custom format." :
							   "It is not an archive in directory format.");
		bad(reader, reader->format == TOC_FORMAT_CUSTOM ?
			"it is not an archive in custom format" :
			"it is not an archive in directory format");
		return;
	}

	/*
	 * The header contains the method since 1.15, and the level of gzip
	 * before, which is 0 without compression.
	 */
	value = toc->minor >= 15 ? read_byte(reader) : read_int(reader);
	if (toc->minor < 15)
		toc->method = value == 0 ? COMPRESS_NONE : COMPRESS_GZIP;
	else if (value < N_COMPRESS_METHODS)
		toc->method = (CompressMethod) value;
	else
		bad(reader, "it contains an unknown compression method");
	for (int i = 0; i < (int) lengthof(toc->created); i++)
		toc->created[i] = read_int(reader);
	toc->dbname = read_string(reader);
	toc->server_version = read_string(reader);
	toc->pg_dump_version = read_string(reader);
}

static void
read_entry(TocReader *reader, const Toc *toc, TocEntry *entry)
{
	char	   *text;

	entry->dump_id = read_int(reader);
	if (entry->dump_id <= 0 || entry->dump_id > MAX_DUMP_ID)
		bad(reader, "it contains an invalid dump ID");
	entry->had_dumper = read_int(reader) != 0;
	entry->catalog_oid = read_oid(reader);
	entry->oid = read_oid(reader);
	entry->tag = read_name(reader, "an entry has no tag");
	entry->desc = read_name(reader, "an entry has no description");
	entry->section = (TocSection) read_int(reader);
	entry->defn = read_string(reader);
	entry->drop_stmt = read_string(reader);
	entry->copy_stmt = read_string(reader);
	entry->namespace = read_string(reader);
	entry->tablespace = read_string(reader);
	entry->tableam = read_string(reader);
	if (toc->minor >= 16)
		entry->relkind = read_int(reader);
	entry->owner = read_string(reader);
	free(read_string(reader));	/* WITH OIDS: always "false" */
	/* Dependencies are dump IDs as decimal numbers, and 0 means none. */
	while ((text = read_string(reader)) != NULL && !reader->at_end)
	{
		char	   *end;
		long		id = strtol(text, &end, 10);

		if (*end != '\0' || id < 0 || id > MAX_DUMP_ID)
			bad(reader, "it contains an invalid dependency");
		*array_add(entry->deps, entry->n_deps) = (int) id;
		free(text);
	}
	free(text);

	if (reader->format != TOC_FORMAT_CUSTOM)
	{
		entry->filename = read_string(reader);

		/*
		 * pg_dump would write files of these names, but our files have
		 * others.
		 */
		if (reader->of_pg_dump)
		{
			free(entry->filename);
			entry->filename = NULL;
		}
		return;
	}

	/*
	 * The custom format adds a flag and an offset, whose lowest byte comes
	 * first (ReadOffset).
	 */
	entry->data_state = (TocDataState) read_byte(reader);
	if (entry->data_state < TOC_DATA_SOMEWHERE ||
		entry->data_state > TOC_DATA_NONE)
		bad(reader, "it contains an invalid data offset");
	for (int i = 0; i < toc->offset_size; i++)
		entry->data_offset |= (uint64) read_byte(reader) << (8 * i);
}

static Toc *
read_toc(TocReader *reader, const char **problem)
{
	Toc		   *toc = pg_malloc0(sizeof(Toc));
	int			count = 0;

	*problem = "The output ends within its header.";
	read_head(reader, toc);
	if (!reader->at_end)
	{
		*problem = "The output ends within its table of contents.";
		count = read_int(reader);
		if (count < 0)
			bad(reader, "it contains an invalid number of entries");
	}
	while (toc->n_entries < count && !reader->at_end)
	{
		TocEntry   *entry;

		entry = array_add(toc->entries, toc->n_entries);
		memset(entry, 0, sizeof(TocEntry));
		read_entry(reader, toc, entry);
		toc->max_dump_id = Max(toc->max_dump_id, entry->dump_id);
		/* An entry may depend on an entry that is not in the archive. */
		for (int i = 0; i < entry->n_deps; i++)
			toc->max_dump_id = Max(toc->max_dump_id, entry->deps[i]);
	}
	if (!reader->at_end)
		return toc;
	toc_free(toc);
	return NULL;
}

Toc *
toc_read_pg_dump(TocReadCallback read, void *arg, bool is_custom,
				 const char **problem)
{
	TocReader	reader = {read, arg, is_custom ? TOC_FORMAT_CUSTOM :
	TOC_FORMAT_TAR,.of_pg_dump = true};

	return read_toc(&reader, problem);
}

Toc *
toc_read_file(TocReadCallback read, void *arg, bool is_custom,
			  const char **problem)
{
	TocReader	reader = {read, arg, is_custom ? TOC_FORMAT_CUSTOM : TOC_FORMAT_TAR};
	Toc		   *toc = read_toc(&reader, problem);

	if (toc == NULL)
		*problem = reader.error ? reader.error : "it ends too early";
	return toc;
}

/* ----------
 * Writing a table of contents.
 * ----------
 */

/* The size of the buffer that is written at once. */
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

/*
 * The mark of our archives follows the version of pg_dump, because pg_restore
 * only prints that text.
 */
static void
put_head(PQExpBuffer buf, const Toc *toc, const CompressSpec *compress)
{
	appendPQExpBufferStr(buf, TOC_MAGIC);
	put_byte(buf, 1);
	put_byte(buf, toc->minor);
	put_byte(buf, toc->revision);
	put_byte(buf, 4);			/* size of an integer */
	put_byte(buf, toc->offset_size);

	/*
	 * pg_dump does the same for a directory (_CloseArchive() in
	 * pg_backup_directory.c).
	 */
	put_byte(buf, TOC_FORMAT_TAR);
	if (toc->minor >= 15)
		put_byte(buf, compress->method);
	else
		put_int(buf, compress->level);	/* level of gzip, 0 = none */
	for (int i = 0; i < (int) lengthof(toc->created); i++)
		put_int(buf, toc->created[i]);
	put_string(buf, toc->dbname);
	put_string(buf, toc->server_version);
	put_string(buf, psprintf("%s" TOC_MARK PARDUMP_VERSION, toc->pg_dump_version));
}

static void
put_entry(PQExpBuffer buf, const Toc *toc, const TocEntry *entry)
{
	put_int(buf, entry->dump_id);
	put_int(buf, entry->had_dumper ? 1 : 0);
	/* OIDs and dependencies are decimal texts in this format. */
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
	PQExpBufferData buf = buffer_new();

	put_head(&buf, toc, compress);
	put_int(&buf, toc->n_entries);
	for (int i = 0; i < toc->n_entries; i++)
	{
		put_entry(&buf, toc, &toc->entries[i]);
		/* Write in parts, because a PQExpBuffer is limited to 2 GB. */
		if (buf.len >= WRITE_BYTES)
			sink_write_buffer(sink, &buf);
	}
	sink_write_buffer(sink, &buf);
}
