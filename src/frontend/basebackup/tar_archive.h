/*
 * tar_archive.h
 *		A tar file that several processes write together, each its own pieces,
 *		without a temporary file or a second copy.
 *
 * A piece is any part of the tar's bytes.  If the file is compressed, each
 * piece is a separate frame (zstd, lz4), because decompressors read one frame
 * after the other.  Pieces are numbered from 0.  The length of a piece is
 * known only after it was compressed, and its position only after all
 * previous pieces have their lengths.  So a process waits for the previous
 * piece's end, publishes its own end, and then writes its piece, while others
 * write theirs.
 *
 * A process may die at any time.  Then another process must write its piece
 * again, or the file cannot be finished.  This must not be a process that
 * already waits for the lost piece.
 */
#ifndef TAR_ARCHIVE_H
#define TAR_ARCHIVE_H

#include <time.h>

#include "pgtar.h"

#include "shared/compress.h"

/* ----------
 * The length of a compressed frame, found without decompression.
 * ----------
 */

/*
 * The length of the zstd or lz4 frame that begins at this address, where
 * "left" bytes remain; 0 if there is no complete frame.  Nothing is
 * decompressed.  With other methods, whose frames do not show their lengths,
 * the result is "left".
 */
extern uint64 compressed_frame_bytes(const void *frame, uint64 left,
									 CompressMethod method);

/*
 * The total size of the tar files in a directory; 0 if it cannot be read,
 * which opening the files will report.
 */
extern uint64 tar_archive_stored_bytes(const char *directory);

typedef struct TarArchive TarArchive;

/*
 * Create a file with mode 0600 for at most max_pieces pieces; a few bytes of
 * shared memory are reserved for each.  Call this before the processes are
 * forked that write the file.  This function and the following ones exit with
 * a message on failure.
 */
extern TarArchive *tar_archive_new(const char *path,
								   const CompressSpec *compress,
								   int max_pieces);

/*
 * Write a piece, which is a complete frame.  Waits for the previous pieces.
 * If a process has died after it published the end of its piece, the repeated
 * piece must have the same length; otherwise this is an error, because other
 * pieces follow it.
 */
extern void tar_archive_put(TarArchive *archive, int piece, const void *frame,
							size_t len);

/*
 * After all processes have finished: append the end of the archive after
 * n_pieces pieces, and close the file.  A missing piece is an error.  The
 * file is not flushed.  Returns its length; frees the archive.
 */
extern uint64 tar_archive_finish(TarArchive *archive, int n_pieces);

/*
 * Make the header of a member: its path in the archive, the target of a
 * symbolic link or NULL, its length, and its mode, which includes S_IFDIR for
 * a directory.  It is an error if the path is too long for tar.
 */
extern void tar_archive_header(char header[TAR_BLOCK_SIZE], const char *path,
							   const char *link_target, uint64 size,
							   mode_t mode, time_t mtime);

#endif							/* TAR_ARCHIVE_H */
