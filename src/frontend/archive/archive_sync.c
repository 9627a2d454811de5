/*
 * archive_sync.c
 *		Flushes the files of an archive, one by one or with their file system.
 */
#include "base/fe_compat.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/file_utils.h"

#include "archive/archive_name.h"
#include "archive/archive_sync.h"
#include "base/interrupt.h"
#include "process/child_program.h"
#include "progress/progress.h"

/* How often a child that flushes is looked at. */
#define LOOK_MS 20

static void
sync_file_or_dir(const char *path, bool is_dir)
{
	if (fsync_fname(path, is_dir) != 0)
		pg_fatal("could not flush \"%s\" to disk", path);
}

static void
sync_one_file(const char *path, const char *name)
{
	char	   *file = psprintf("%s/%s", path, name);

	sync_file_or_dir(file, false);
	free(file);
}

/*
 * Do it to all files of the archive, if there is something to do; how many?
 */
static int
for_all_files(const char *path, void (*sync) (const char *path, const char *name),
			  volatile int *n_done)
{
	DIR		   *d = opendir(path);
	struct dirent *entry;

	if (d == NULL)
		pg_fatal("could not open directory \"%s\": %m", path);
	for (*n_done = 0; errno = 0, (entry = readdir(d)) != NULL;)
	{
		if (!archive_name_is_part(entry->d_name))
			continue;
		interrupt_check();
		if (sync)
			sync(path, entry->d_name);
		++*n_done;
		progress_tick();
	}
	if (errno != 0)
		pg_fatal("could not read directory \"%s\": %m", path);
	closedir(d);
	return *n_done;
}

/* Every file in the directory, then its own entries. */
static void
sync_all_files(const char *path)
{
	int			n_done;
	int			n_files = for_all_files(path, NULL, &n_done);

	progress_stage_count("flushing files", "", &n_done, n_files);
	(void) for_all_files(path, sync_one_file, &n_done);
	sync_file_or_dir(path, true);
	progress_end();
}

#ifdef __linux__
static void
flush_file_system(const void *path)
{
	int			fd = open(path, O_RDONLY);

	if (fd < 0)
		pg_fatal("could not open directory \"%s\": %m", (const char *) path);
	if (syncfs(fd) < 0)
		pg_fatal("could not synchronize file system for file \"%s\": %m",
				 (const char *) path);
	close(fd);
}
#endif

void
archive_sync_file_system(const char *path)
{
#ifdef __linux__
	archive_sync_apart(flush_file_system, path);
#endif
}

void
archive_sync_files(const char *path, SyncMethod sync_method)
{
	switch (sync_method)
	{
		case SYNC_NONE:
			break;
		case SYNC_FSYNC:
			sync_all_files(path);
			break;
		case SYNC_SYNCFS:
			progress_stage_count("flushing files", "", NULL, 0);
			archive_sync_file_system(path);
			progress_end();
			break;
	}
}

void
archive_sync_directory(const char *path, bool made)
{
	sync_file_or_dir(path, true);
	/* a directory just made is an entry in its parent */
	if (made && fsync_parent_path(path) != 0)
		pg_fatal("could not flush the parent directory of \"%s\" to disk", path);
}

static void
end_child(void *arg)
{
	child_process_end_all((pid_t *) arg, 1);
}

void
archive_sync_apart(void (*flush) (const void *arg), const void *arg)
{
	pid_t		leader = getpid();
	pid_t		pid;
	pid_t		gone;
	int			status;

	fflush(NULL);
	interrupt_hold_signals();
	pid = fork();
	if (pid == 0)
	{
		interrupt_install_worker(leader, NULL);
		interrupt_release_signals();
		flush(arg);
		_exit(0);
	}
	interrupt_release_signals();
	if (pid < 0)
		pg_fatal("could not create child process: %m");
	cleanup_push(end_child, &pid);
	while ((gone = waitpid(pid, &status, WNOHANG)) == 0 ||
		   (gone < 0 && errno == EINTR))
	{
		interrupt_check();
		progress_tick();
		pg_usleep(LOOK_MS * 1000L);
	}
	if (gone < 0)
		pg_fatal("could not wait for child process: %m");
	pid = 0;
	cleanup_pop(end_child, &pid);
	/* the signal that ends this process has ended the child, too */
	interrupt_check();
	if (WIFSIGNALED(status))
		pg_fatal("the process that flushes files was terminated by signal %d: %s",
				 WTERMSIG(status), strsignal(WTERMSIG(status)));
	if (status != 0)
		exit(1);				/* it has said why */
}
