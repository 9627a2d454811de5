/*
 * manifest_file.c
 *		Finds an archive's manifest and reads it.
 */
#include "fe_compat.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "manifest.h"

/* No manifest is larger: some 3 million files. */
#define MAX_BYTES ((size_t) 1024 * 1024 * 1024 - 1)

/* All of it, ended by a zero; NULL if it cannot be read. */
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
		if (got < 0 || *len + got > MAX_BYTES)
		{
			free(text);
			return NULL;
		}
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

	/* a FIFO must not make us wait, a link not lead elsewhere */
	int			fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	Manifest   *manifest = NULL;
	struct stat st;
	char	   *text;
	size_t		len;

	*exists = fd >= 0 || errno != ENOENT;
	*problem = "could not be opened";
	free(path);
	if (fd < 0)
		return NULL;
	*problem = "is not a regular file";
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
	{
		text = read_text(fd, &len);
		*problem = "could not be read";
		if (text)
			manifest = manifest_read(text, len, problem);
		free(text);
	}
	close(fd);
	return manifest;
}
