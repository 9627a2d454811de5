/*
 * dir_listing.c
 *		The names of a directory that many hosts write to.
 */
#include "base/fe_compat.h"

#include <dirent.h>
#include <unistd.h>

#include "base/clock.h"
#include "previous/lower_bound.h"
#include "tasks/dir_listing.h"

static int
compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *) a, *(char *const *) b);
}

void
dir_listing_read(DirListing *listing)
{
	DIR		   *dir = opendir(listing->directory);
	struct dirent *entry;

	while (listing->n > 0)
		free(listing->names[--listing->n]);
	while (dir && (entry = readdir(dir)) != NULL)
	{
		if (listing->n == listing->space)
		{
			listing->space = Max(64, listing->space * 2);
			listing->names = pg_realloc(listing->names,
										listing->space * sizeof(char *));
		}
		listing->names[listing->n++] = pg_strdup(entry->d_name);
	}
	if (dir)
		closedir(dir);
	if (listing->n > 0)
		qsort(listing->names, listing->n, sizeof(char *), compare_names);
	listing->read_at = clock_monotonic_ms();
}

int
dir_listing_find(const DirListing *listing, const char *name)
{
	return lower_bound(&name, listing->names, listing->n, sizeof(char *),
					   compare_names);
}

bool
dir_listing_begins(const DirListing *listing, int i, const char *begin)
{
	return i < listing->n &&
		strncmp(listing->names[i], begin, strlen(begin)) == 0;
}

bool
dir_listing_has(const DirListing *listing, const char *name)
{
	int			i = dir_listing_find(listing, name);

	return i < listing->n && strcmp(listing->names[i], name) == 0;
}

bool
dir_listing_has_beginning(const DirListing *listing, const char *begin)
{
	return dir_listing_begins(listing, dir_listing_find(listing, begin), begin);
}

void
dir_listing_look_anew(const DirListing *listing)
{
	DIR		   *dir = opendir(listing->directory);

	if (dir)
		closedir(dir);
}

bool
dir_listing_is_in(const DirListing *listing, const char *name,
				  const char *suffix)
{
	char	   *path = psprintf("%s/%s%s", listing->directory, name, suffix);
	bool		result = access(path, F_OK) == 0;

	free(path);
	return result;
}
