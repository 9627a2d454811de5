/*
 * sink_archive.c
 *		Where the files of an archive go: to a directory, or to commands.
 */
#include "base/fe_compat.h"

#include <fcntl.h>
#include <unistd.h>

#include "archive/sink_archive.h"

/*
 * The process's, as its working directory is.  What commands say goes where
 * the leader's messages go, not to a worker's pipe: it would be held open.
 */
static const char *command_pattern;
static int	command_err_fd = -1;

void
sink_archive_set_command(const char *pattern)
{
	command_pattern = pattern;
	command_err_fd = dup(STDERR_FILENO);
	if (command_err_fd < 0 || fcntl(command_err_fd, F_SETFD, FD_CLOEXEC) < 0)
		pg_fatal("could not duplicate standard error: %m");
}

bool
sink_archive_is_piped(void)
{
	return command_pattern != NULL;
}

Sink *
sink_archive_new(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (command_pattern == NULL)
		return sink_file_new(path);
	return sink_pipe_new(command_pattern, slash ? slash + 1 : path,
						 command_err_fd);
}

void
sink_archive_remove(const char *path)
{
	if (command_pattern == NULL && unlink(path) < 0 && errno != ENOENT)
		pg_fatal("could not remove file \"%s\": %m", path);
}
