/*
 * archive_space.c
 *		Is there room for an archive, and may it be written?
 */
#include "base/fe_compat.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "archive/archive_space.h"
#include "base/units.h"

/* Most tables' rows become smaller than that, few of them larger. */
#define LIKELY_RATIO 4

/* What its files occupy, of those that have no other name. */
static uint64
bytes_in(const char *directory)
{
	DIR		   *dir = opendir(directory);
	struct dirent *entry;
	struct stat st;
	uint64		bytes = 0;

	if (dir == NULL)
		return 0;
	while ((entry = readdir(dir)) != NULL)
		if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
			S_ISREG(st.st_mode) && st.st_nlink == 1)
			bytes += (uint64) st.st_blocks * 512;
	closedir(dir);
	return bytes;
}

/* Only within a file system there are links and clones. */
static bool
copies_previous(const ArchiveNeed *need, const char *path)
{
	struct stat previous;
	struct stat here;

	return need->copies || stat(need->previous, &previous) < 0 ||
		stat(path, &here) < 0 || previous.st_dev != here.st_dev;
}

static void
warn_if_full(const char *path, const char *directory, const ArchiveNeed *need)
{
	uint64		needed = need->compressed ? need->raw_bytes / LIKELY_RATIO :
		need->raw_bytes;
	uint64		copied = need->previous && copies_previous(need, path) ?
		need->previous_bytes : 0;
	uint64		available;
	struct statvfs st;
	char		free_size[UNITS_BYTES];
	char		raw_size[UNITS_BYTES];
	char		copied_size[UNITS_BYTES];

	if (statvfs(path, &st) != 0)
		return;
	available = (uint64) st.f_bavail * st.f_frsize +
		(need->clean ? bytes_in(directory) : 0);
	if (available >= needed + copied)
		return;
	pg_log_warning("the file system of directory \"%s\" has %s free, and about %s are to be read",
				   path, units_size(available, free_size),
				   units_size(need->raw_bytes, raw_size));
	pg_log_warning_detail(need->compressed ?
						  "Compressed, rows mostly have a third to a tenth of their size." :
						  "They are not to be compressed.");
	if (copied > 0)
		pg_log_warning_detail("Files of the previous archive that may be copied have %s.",
							  units_size(copied, copied_size));
}

void
archive_space_check(const char *directory, const ArchiveNeed *need)
{
	char	   *path = pg_strdup(directory);

	if (access(path, F_OK) != 0)
		get_parent_directory(path);
	if (*path == '\0')
	{
		free(path);
		path = pg_strdup(".");
	}
	if (access(path, W_OK | X_OK) != 0)
		pg_log_error("could not write to directory \"%s\": %m", path);
	else
		warn_if_full(path, directory, need);
	free(path);
}
