/*
 * archive_lookup.c
 *		Finds a file of a directory archive, as pg_restore does.
 */
#include "base/fe_compat.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/archive_lookup.h"
#include "archive/archive_name.h"
#include "stream/regular_file.h"

/* A plain name: not of a directory, not of a hidden file, not elsewhere. */
static bool
is_plain_name(const char *name)
{
	return name[0] != '\0' && name[0] != '.' && strchr(name, '/') == NULL;
}

/*
 * A form of a name, from 0 on, with the method that it stands for; owned.
 * NULL after the last.  A name that has a suffix has no other form.
 */
static char *
form_of_name(const char *name, int form, CompressMethod *method)
{
	CompressMethod has = archive_name_method(name);

	if (form > (has == COMPRESS_NONE ? COMPRESS_ZSTD : COMPRESS_NONE))
		return NULL;
	*method = has == COMPRESS_NONE ? (CompressMethod) form : has;
	return archive_name_compressed(name, (CompressMethod) form);
}

int
archive_lookup_open(int dir, const char *name, CompressMethod *method,
					const char **problem)
{
	char	   *full;

	*problem = "has a name that no file of an archive has";
	if (!is_plain_name(name))
		return -1;
	for (int i = 0; (full = form_of_name(name, i, method)) != NULL; i++)
	{
		int			fd = regular_file_open(dir, full, problem);

		free(full);
		if (fd >= 0 || errno != ENOENT)
			return fd;
	}
	return -1;
}

uint64
archive_lookup_bytes(int dir, const char *name)
{
	CompressMethod method;
	char	   *full;
	struct stat st;

	for (int i = 0; is_plain_name(name) &&
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
	char	   *map = psprintf("%s/%s", directory, CLUSTER_MAP_NAME);

	if (access(map, F_OK) == 0)
		pg_log_error_hint("It has the archives of all databases of a cluster, each in a directory below \"%s/databases\"; --all-databases is for all of them.",
						  directory);
	free(map);
}
