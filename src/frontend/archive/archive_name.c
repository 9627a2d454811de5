/*
 * archive_name.c
 *		Makes and recognises the names of an archive's files.
 */
#include "base/fe_compat.h"

#include <ctype.h>

#include "archive/archive_name.h"
#include "base/buffer.h"

/* ----------
 * A table's name, as a manifest or a table of contents tells it.
 * ----------
 */

/*
 * Quoted where SQL needs it but for key words: fmtId() would have to know the
 * encoding, and takes no bytes that are wrong in it.
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

/* ----------
 * Makes and recognises the names of an archive's files.
 * ----------
 */

#define DATA_SUFFIX ".dat"
#define LARGE_OBJECT_PREFIX "blob_"
#define LIST_PREFIX "blobs"
#define LIST_SUFFIX ".toc"

#define DIGITS "0123456789"

/* ----------
 * Made
 * ----------
 */
char *
archive_name_rows(int dump_id, CompressMethod method)
{
	return psprintf("%d" DATA_SUFFIX "%s", dump_id,
					compress_method_suffix(method));
}

char *
archive_name_large_object(Oid oid, CompressMethod method)
{
	return psprintf(LARGE_OBJECT_PREFIX "%u" DATA_SUFFIX "%s", oid,
					compress_method_suffix(method));
}

char *
archive_name_object_list(int minor, int dump_id)
{
	if (minor < 16)
		return pg_strdup(LIST_PREFIX LIST_SUFFIX);
	return psprintf(LIST_PREFIX "_%d" LIST_SUFFIX, dump_id);
}

char *
archive_name_compressed(const char *name, CompressMethod method)
{
	return psprintf("%s%s", name, compress_method_suffix(method));
}

char *
archive_name_list_line(Oid oid)
{
	return psprintf("%u " LARGE_OBJECT_PREFIX "%u" DATA_SUFFIX "\n", oid, oid);
}

/* ----------
 * Recognised
 * ----------
 */
char *
archive_name_of_list_line(char *line)
{
	char	   *name = line + strspn(line, DIGITS);
	char	   *end = strchr(line, '\n');

	if (name == line || *name != ' ' || end == NULL)
		return NULL;
	*end = '\0';
	return name + 1;
}

/* After the prefix: a number, ".dat", and a method's suffix. */
static bool
is_data_name(const char *name)
{
	size_t		digits = strspn(name, DIGITS);
	const char *suffix = text_after(name + digits, DATA_SUFFIX);

	if (digits == 0 || suffix == NULL)
		return false;
	/* the suffix of no compression is empty */
	for (int i = COMPRESS_NONE; i < N_COMPRESS_METHODS; i++)
		if (strcmp(suffix, compress_method_suffix((CompressMethod) i)) == 0)
			return true;
	return false;
}

/* blobs.toc, blobs_N.toc */
static bool
is_list_name(const char *name)
{
	const char *rest = text_after(name, LIST_PREFIX);

	if (rest == NULL)
		return false;
	if (rest[0] == '_' && strspn(rest + 1, DIGITS) > 0)
		rest += 1 + strspn(rest + 1, DIGITS);
	return strcmp(rest, LIST_SUFFIX) == 0;
}

bool
archive_name_is_part(const char *name)
{
	const char *object = text_after(name, LARGE_OBJECT_PREFIX);

	return strcmp(name, TOC_NAME) == 0 || strcmp(name, TOC_TEMP_NAME) == 0 ||
		strcmp(name, MANIFEST_NAME) == 0 || is_list_name(name) ||
		is_data_name(object ? object : name);
}

CompressMethod
archive_name_method(const char *name)
{
	for (int i = COMPRESS_GZIP; i < N_COMPRESS_METHODS; i++)
	{
		const char *suffix = compress_method_suffix((CompressMethod) i);
		size_t		len = strlen(name);

		if (len > strlen(suffix) &&
			strcmp(name + len - strlen(suffix), suffix) == 0)
			return (CompressMethod) i;
	}
	return COMPRESS_NONE;
}
