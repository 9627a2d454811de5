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
 * A file of rows or of a large object while a worker makes it: the sinks
 * it is written through, and what there is to tell about it.
 * ----------
 */

typedef struct ArchiveFile ArchiveFile;

/* What follows the rows of a table or a chunk, for pg_restore -f. */
#define ARCHIVE_END_OF_ROWS "\\.\n\n\n"

/*
 * Make a file of what the sink, which is taken over, writes: a new one of an
 * ArchiveDir.  What it gets is compressed first, unless compress is NULL.
 * Its result, one of results, is set when the file is complete.
 */
extern ArchiveFile *archive_file_begin(FileResults *results,
									   FileResult *result, Sink *sink,
									   const CompressSpec *compress);

/* The same of a file whose bytes come compressed already. */
extern ArchiveFile *archive_file_begin_compressed(FileResults *results,
												  FileResult *result,
												  Sink *sink,
												  const CompressSpec *compress);

/*
 * All that came compressed is written, and was raw_bytes before: what follows
 * is compressed here, as a stream of its own.  The sink is another then.
 */
extern void archive_file_compress_rest(ArchiveFile *file, uint64 raw_bytes);

/* Where its bytes go; borrowed. */
extern Sink *archive_file_sink(ArchiveFile *file);

/* Finish the sinks, set the result, and free the file. */
extern void archive_file_complete(ArchiveFile *file, uint64 rows);

/* ----------
 * Is there room for an archive, and may it be written?
 * ----------
 */

/* What an archive may need room for. */
typedef struct ArchiveNeed
{
	uint64		raw_bytes;		/* to be dumped, before compression */
	bool		compressed;		/* they are going to be */
	bool		clean;			/* what is there will be removed before */
	const char *previous;		/* directory of the archive whose files may be
								 * taken; NULL = none */
	uint64		previous_bytes; /* of these files */
	bool		copies;			/* they are copied even where links or clones
								 * could be made */
} ArchiveNeed;

/*
 * Tell of an error if the directory, or, should it not be there, its parent
 * may not be written; and warn if its file system has less room than the
 * archive is sure to need, or likely to need if it is compressed: a quarter
 * of its rows.  Files of the previous archive need room where they are
 * copied, and else none, though who changes rows will need it: that is not
 * known yet, nor what others write there meanwhile.
 */
extern void archive_space_check(const char *directory,
								const ArchiveNeed *need);

/*
 * How large the archive is likely to be, without files of the previous one;
 * and what the file system of the directory has free for it, with what
 * --clean-output removes.  The latter is false if that is not known.
 */
extern uint64 archive_space_expect(const ArchiveNeed *need);
extern bool archive_space_available(const char *directory,
									const ArchiveNeed *need,
									uint64 *available);

typedef struct ArchiveDir ArchiveDir;

/*
 * Is the directory there?  Exits with a message if an archive, or those of
 * all databases, could not be written into it, as it is not empty.
 */
extern bool archive_dir_check(const char *path, bool of_all);

/*
 * Open a directory that the program has made a moment ago, or that it has
 * found empty.  Another user may be able to replace it, or a directory above,
 * with a link to a directory that has files of the user who runs the program:
 * so it must be empty when it is open, and what is removed later must be
 * removed by this open directory.  Owned; exits with a message on failure.
 */
extern DIR *archive_dir_open_empty(const char *path, bool made);

/* Make the directory, or take an empty one, and open it as above. */
extern DIR *archive_dir_open_new(const char *path, bool of_all, bool *made);

/*
 * Exits with a message if the file at path, which an option names, would be
 * in the directory: there it would be no file of the archive's.  directory
 * may be NULL.
 */
extern void archive_dir_keep_out(const char *directory, const char *option,
								 const char *path);

/*
 * Make the directory, or take an empty one, and claim it by creating
 * toc.dat.tmp, so that no other run takes it too.  From here on, if the
 * program fails, every file in it whose name is an archive's is removed, and
 * the directory too if it was made.
 *
 * With clean, a directory that holds what an earlier run left is only locked,
 * and looked at whether it may be emptied (see archive_clean.h).  With
 * flushes, files begin their way to the disk while they are written.
 */
extern ArchiveDir *archive_dir_create(const char *path, bool clean,
									  bool flushes);

/*
 * Empty a directory that was left as it is, and claim it; does nothing to
 * others.  Called when the plan is made, so that what makes it fail does not
 * cost the old archive.
 */
extern void archive_dir_clean(ArchiveDir *dir);

/*
 * No directory: every file goes to a command made of the pattern, which must
 * be valid, see sink_pipe_new().  toc.dat is kept in memory, and goes last.
 * There is nothing to flush then, or to remove.
 */
extern ArchiveDir *archive_dir_create_piped(const char *pattern);

/*
 * In a task: files go to a directory that the leader has made, each with this
 * suffix after a dot, until the leader gives them their names.  Nothing of it
 * is removed when the program fails.
 */
extern ArchiveDir *archive_dir_of_attempt(const char *path,
										  const char *suffix, bool flushes);

/*
 * In a task whose files are flushed: see that a complete one is on disk, or
 * exit with a message.
 */
extern void archive_dir_flush_file(const ArchiveDir *dir, const char *name);

/* In the leader: such a file becomes one of the archive's, with this name. */
extern void archive_dir_take_file(const ArchiveDir *dir, const char *path,
								  const char *name);

/* A new file of the archive, in this process or one that it forked. */
extern Sink *archive_dir_new_file(const ArchiveDir *dir, const char *name);

/*
 * A new name in the archive for a file that is open: a link to it, so that
 * both names are one file from then on; or a new file, open for reading, that
 * shares its blocks.  False, or -1, if the file system cannot do that.  The
 * file should still have this name in the directory that from_dir is open on:
 * only where the system has no names for open files that matters.
 */
extern bool archive_dir_link_file(const ArchiveDir *dir, int fd, int from_dir,
								  const char *from_name, const char *name);
extern int	archive_dir_clone_file(const ArchiveDir *dir, int fd,
								   const char *name);

/*
 * A file that is not whole is to be made again: remove what there is of it.
 */
extern void archive_dir_remove_file(const ArchiveDir *dir, const char *name);

/*
 * Where toc.dat is to be written, by its name until it is whole.  It is taken
 * over, once, by the caller, who finishes and frees it before publishing.
 */
extern Sink *archive_dir_take_toc(ArchiveDir *dir);

/*
 * All files are complete, the table of contents too: flush them as asked for,
 * which is a stage of the progress, and give toc.dat its name.  When this
 * returns the archive is whole, and none of its files is removed any more.
 */
extern void archive_dir_publish(ArchiveDir *dir, SyncMethod sync_method);

#endif							/* ARCHIVE_DIR_H */
