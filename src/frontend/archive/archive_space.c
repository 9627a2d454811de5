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

void
archive_space_check(const char *directory, uint64 raw_bytes,
					bool compressed, bool clean)
{
	char	   *path = pg_strdup(directory);
	uint64		needed = compressed ? raw_bytes / LIKELY_RATIO : raw_bytes;
	uint64		available;
	struct statvfs st;
	char		free_size[UNITS_BYTES];
	char		raw_size[UNITS_BYTES];

	if (access(path, F_OK) != 0)
		get_parent_directory(path);
	if (*path == '\0')
	{
		free(path);
		path = pg_strdup(".");
	}
	if (access(path, W_OK | X_OK) != 0)
		pg_log_error("could not write to directory \"%s\": %m", path);
	else if (statvfs(path, &st) == 0)
	{
		available = (uint64) st.f_bavail * st.f_frsize +
			(clean ? bytes_in(directory) : 0);
		if (available < needed)
		{
			pg_log_warning("the file system of directory \"%s\" has %s free, and about %s are to be read",
						   path, units_size(available, free_size),
						   units_size(raw_bytes, raw_size));
			pg_log_warning_detail(compressed ?
								  "Compressed, rows mostly have a third to a tenth of their size." :
								  "They are not to be compressed.");
		}
	}
	free(path);
}
