/*
 * manifest_load.c
 *		Finds an archive's manifest and reads it.
 */
#include "base/fe_compat.h"

#include <fcntl.h>
#include <unistd.h>

#include "archive/archive_name.h"
#include "archive/manifest_load.h"
#include "stream/regular_file.h"

/*
 * All of it, ended by a zero; NULL if it cannot be read.  It may be as large
 * as its writer makes it, some 200 bytes for each file.  Reading ends at a
 * zero byte, which no manifest has: a file that only claims to be huge has
 * nothing else.
 */
static char *
read_text(int fd, size_t *len)
{
	size_t		space = 64 * 1024;
	char	   *text = pg_malloc(space);
	ssize_t		got;

	*len = 0;
	while ((got = read(fd, text + *len, space - *len - 1)) != 0)
	{
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
		{
			free(text);
			return NULL;
		}
		if (memchr(text + *len, '\0', got))
			break;
		*len += got;
		if (*len == space - 1)
		{
			space *= 2;
			text = pg_realloc(text, space);
		}
	}
	text[*len] = '\0';
	return text;
}

Manifest *
manifest_load(const char *directory, bool *exists, const char **problem)
{
	char	   *path = psprintf("%s/%s", directory, MANIFEST_NAME);
	int			fd = regular_file_open(AT_FDCWD, path, problem);
	Manifest   *manifest = NULL;
	char	   *text;
	size_t		len;

	*exists = fd >= 0 || errno != ENOENT;
	free(path);
	if (fd < 0)
		return NULL;
	text = read_text(fd, &len);
	*problem = "could not be read";
	if (text)
		manifest = manifest_read(text, len, problem);
	free(text);
	close(fd);
	return manifest;
}
