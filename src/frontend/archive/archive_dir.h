/*
 * archive_dir.h
 *		The destination of an archive's files: a directory, which is created,
 *		emptied after a failure, and published; or commands (--pipe).
 *
 * An archive is complete if and only if it has a toc.dat.  That file is
 * created first, as toc.dat.tmp, which claims the directory.  It is renamed
 * to toc.dat after all other files are complete and, without --no-sync,
 * flushed to disk.
 */
#ifndef ARCHIVE_DIR_H
#define ARCHIVE_DIR_H

#include <dirent.h>

#include "options/options.h"
#include "process/file_result.h"
#include "stream/sink.h"

/* ----------
 * A file of rows or of a large object while a worker writes it: its chain of
 * sinks, and its result.
 * ----------
 */

typedef struct ArchiveFile ArchiveFile;

/* The end of the rows of a table or a chunk, as pg_restore -f prints it. */
#define ARCHIVE_END_OF_ROWS "\\.\n\n\n"

/*
 * Begin a file that is written to the sink, a new file of an ArchiveDir,
 * which this function takes over.  Data is compressed first, unless compress
 * is NULL.  result, which is one of results, is set when the file is
 * complete.
 */
extern ArchiveFile *archive_file_begin(FileResults *results,
									   FileResult *result, Sink *sink,
									   const CompressSpec *compress);

/* Begin a file whose data is already compressed. */
extern ArchiveFile *archive_file_begin_compressed(FileResults *results,
												  FileResult *result,
												  Sink *sink,
												  const CompressSpec *compress);

/*
 * Compress the rest of such a file here, as a separate compressed stream.
 * The data written so far had raw_bytes bytes before compression.
 * archive_file_sink() returns another sink afterwards.
 */
extern void archive_file_compress_rest(ArchiveFile *file, uint64 raw_bytes);

/* Returns the sink for the file's data; borrowed. */
extern Sink *archive_file_sink(ArchiveFile *file);

/* Finish the sinks, set the result, and free the file. */
extern void archive_file_complete(ArchiveFile *file, uint64 rows);

/* ----------
 * Free space and permissions for an archive.
 * ----------
 */

/* What is known about the space that an archive will need. */
typedef struct ArchiveNeed
{
	uint64		raw_bytes;		/* of the dump, before compression */
	bool		compressed;		/* they will be compressed */
	bool		clean;			/* existing files will be removed first */
	const char *previous;		/* directory of the archive whose files may be
								 * reused; NULL = none */
	uint64		previous_bytes; /* size of these files */
	bool		copies;			/* they are copied even if links or clones
								 * would work */
} ArchiveNeed;

/*
 * Log an error if the directory, or its parent if it does not exist, cannot
 * be written.  Warn if its file system has too little free space: less than
 * the archive needs, or, with compression, less than a quarter of its rows.
 * Files of the previous archive count only if they are copied; changed rows
 * will need space in place of a link, but this function cannot know which
 * rows have changed.  Neither does it know what other programs will write
 * there meanwhile.
 */
extern void archive_space_check(const char *directory,
								const ArchiveNeed *need);

/*
 * archive_space_expect() returns the likely size of the archive without files
 * of the previous one.  archive_space_available() sets the free space of the
 * directory's file system, including files that --clean-output will remove,
 * and returns false if it is unknown.
 */
extern uint64 archive_space_expect(const ArchiveNeed *need);
extern bool archive_space_available(const char *directory,
									const ArchiveNeed *need,
									uint64 *available);

typedef struct ArchiveDir ArchiveDir;

/*
 * Does the directory exist?  Exits with a message if it is not empty, so that
 * no archive, or, with of_all, no archives of all databases, can be written
 * there.
 */
extern bool archive_dir_check(const char *path, bool of_all);

/*
 * Open a directory that this program has just created, or that it has found
 * empty.  Another user may be able to replace it, or a parent, with a
 * symbolic link to a directory that contains files of the user who runs the
 * program.  So the directory must be empty after it was opened, and files
 * must later be removed through this open directory.  The caller owns it.
 * Exits with a message on failure.
 */
extern DIR *archive_dir_open_empty(const char *path, bool made);

/* Create the directory, or use an empty one, and open it as above. */
extern DIR *archive_dir_open_new(const char *path, bool of_all, bool *made);

/*
 * Exits with a message if the file at path, from this option, would be in the
 * directory, which may contain only files of the archive.  directory may be
 * NULL.
 */
extern void archive_dir_keep_out(const char *directory, const char *option,
								 const char *path);

/*
 * Create the directory, or use an empty one, and create toc.dat.tmp in it, so
 * that no other run uses it too.  From here on, if the program fails, it
 * removes every file in the directory with a name of an archive's file, and
 * the directory itself if it was created.
 *
 * With clean, a directory that contains files is only locked, and checked
 * whether its files may be removed (see archive_clean.h).  With flushes,
 * writing files to disk begins while they are still being written.
 */
extern ArchiveDir *archive_dir_create(const char *path, bool clean,
									  bool flushes);

/*
 * Remove the files of an earlier archive, and create toc.dat.tmp; does
 * nothing if archive_dir_create() has done so already.  This is called when
 * the plan is ready, so that a failure to plan does not cost the old archive.
 */
extern void archive_dir_clean(ArchiveDir *dir);

/*
 * For --pipe: each file is written to a command, which is made from the
 * pattern.  The pattern must be valid, see sink_pipe_new(). toc.dat is kept
 * in memory, and written last.  Such an archive is not flushed or removed.
 */
extern ArchiveDir *archive_dir_create_piped(const char *pattern);

/*
 * In a task: files are written to a directory that the leader has created.
 * Each file name ends in a dot and this suffix, until the leader renames the
 * file.  No files are removed if the program fails.
 */
extern ArchiveDir *archive_dir_of_attempt(const char *path,
										  const char *suffix, bool flushes);

/*
 * In a task: if its files are flushed, make sure that a complete file is on
 * disk.  Exits with a message on failure.
 */
extern void archive_dir_flush_file(const ArchiveDir *dir, const char *name);

/* In the leader: give such a file this name in the archive. */
extern void archive_dir_take_file(const ArchiveDir *dir, const char *path,
								  const char *name);

/*
 * Create a file of the archive.  This may be called in processes that this
 * one has forked.
 */
extern Sink *archive_dir_new_file(const ArchiveDir *dir, const char *name);

/*
 * Reuse an open file for the archive.  archive_dir_link_file() creates a hard
 * link, so that both names are the same file.  archive_dir_clone_file()
 * creates a new file that shares the blocks, and returns it open for reading.
 * They return false or -1 if the file system does not support that.
 * from_name is the name of the file in from_dir; it is used only if the
 * system cannot link an open file.
 */
extern bool archive_dir_link_file(const ArchiveDir *dir, int fd, int from_dir,
								  const char *from_name, const char *name);
extern int	archive_dir_clone_file(const ArchiveDir *dir, int fd,
								   const char *name);

/* Remove an incomplete file before it is written again. */
extern void archive_dir_remove_file(const ArchiveDir *dir, const char *name);

/*
 * Returns the sink for toc.dat, which writes to toc.dat.tmp.  The caller may
 * take it only once, owns it, and must finish and free it before publishing.
 */
extern Sink *archive_dir_take_toc(ArchiveDir *dir);

/*
 * Flush all files with this method, which is a stage of the progress, and
 * rename toc.dat.tmp to toc.dat.  All files must be complete.  When this
 * function returns, the archive is complete, and its files are not removed
 * any more.
 */
extern void archive_dir_publish(ArchiveDir *dir, SyncMethod sync_method);

#endif							/* ARCHIVE_DIR_H */
