/*
 * archive_name.c
 *		Builds, recognizes and looks up the names of an archive's files.
 */
#include "base/fe_compat.h"

#include "archive/archive_name.h"
#include "base/buffer.h"
#include "stream/regular_file.h"

#define DATA_SUFFIX ".dat"
#define LARGE_OBJECT_PREFIX "blob_"
#define LIST_PREFIX "blobs"
#define LIST_SUFFIX ".toc"

#define DIGITS "0123456789"

/* ----------
 * Building names
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
 * Recognizing names
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

/* Is this a number, ".dat", and the suffix of a compression method? */
static bool
is_data_name(const char *name)
{
	size_t		digits = strspn(name, DIGITS);
	const char *suffix = text_after(name + digits, DATA_SUFFIX);

	if (digits == 0 || suffix == NULL)
		return false;
	/* COMPRESS_NONE has an empty suffix */
	for (int i = COMPRESS_NONE; i < N_COMPRESS_METHODS; i++)
		if (strcmp(suffix, compress_method_suffix((CompressMethod) i)) == 0)
			return true;
	return false;
}

/* Is this blobs.toc or blobs_N.toc? */
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

bool
archive_name_is_harmless(const char *name)
{
	static const char harmless[] = DIGITS "_."
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

	return name[0] != '\0' && name[0] != '.' &&
		name[strspn(name, harmless)] == '\0';
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

/* ----------
 * Looking up names in a directory, as pg_restore does
 * ----------
 */

/*
 * Is this a plain name, without a directory, and not that of a hidden file?
 */
static bool
archive_name_is_plain(const char *name)
{
	return name[0] != '\0' && name[0] != '.' && strchr(name, '/') == NULL;
}

/*
 * Returns the name with suffix number "form", counted from 0, and sets
 * *method accordingly; owned.  Returns NULL after the last suffix.  If the
 * name itself has a suffix, only form 0 exists.
 */
static char *
form_of_name(const char *name, int form, CompressMethod *method)
{
	CompressMethod has = archive_name_method(name);

	if (form >= (has == COMPRESS_NONE ? N_COMPRESS_METHODS : 1))
		return NULL;
	*method = has == COMPRESS_NONE ? (CompressMethod) form : has;
	return archive_name_compressed(name, (CompressMethod) form);
}

int
archive_lookup_open(int dir, const char *name, CompressMethod *method,
					const char **problem)
{
	char	   *full;

	if (!archive_name_is_plain(name))
	{
		*problem = psprintf(ARCHIVE_NAME_INVALID, printable(name));
		errno = EINVAL;
		return -1;
	}
	for (int i = 0; (full = form_of_name(name, i, method)) != NULL; i++)
	{
		int			fd = regular_file_open(dir, full, problem);

		free(full);
		if (fd >= 0 || errno != ENOENT)
			return fd;
		free(unconstify(char *, *problem));
	}
	*problem = psprintf("file \"%s\" does not exist", printable(name));
	errno = ENOENT;
	return -1;
}

uint64
archive_lookup_bytes(int dir, const char *name)
{
	CompressMethod method;
	char	   *full;
	struct stat st;

	for (int i = 0; archive_name_is_plain(name) &&
		 (full = form_of_name(name, i, &method)) != NULL; i++)
	{
		int			rc = fstatat(dir, full, &st, AT_SYMLINK_NOFOLLOW);

		free(full);
		if (rc == 0)
			return st.st_size;
	}
	return 0;
}

void
archive_lookup_hint(const char *directory)
{
	if (access(psprintf("%s/%s", directory, CLUSTER_MAP_NAME), F_OK) == 0)
		pg_log_error_hint("The directory contains the archives of all databases of a cluster.  Use --all-databases for all of them, or specify the directory of one database below \"%s/databases\".",
						  directory);
	else if (access(psprintf("%s/dump/%s", directory, TOC_NAME), F_OK) == 0)
		pg_log_error_hint("The directory is a backup of pg_pardump_backup.  Specify its archive: \"%s/dump\".",
						  directory);
}
