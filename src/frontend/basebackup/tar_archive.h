/*
 * tar_archive.h
 *		A tar file that processes write together, each its pieces, without a
 *		temporary file or a second copy.
 *
 * A piece is any part of the tar's bytes, in a frame of its own (zstd, lz4)
 * if the file is compressed: decompressors read one frame after the other.
 * Pieces have numbers from 0.  How long one is is known when it is there, so
 * where it begins is known when all before it are: each waits for the one
 * before, says where it ends itself, and then is written, while others are.
 *
 * A process may die anywhere.  The piece it had is put again by another one,
 * or the file is not finished.  What waits is a process, so a lost piece must
 * not be left to one of those that wait for it.
 */
#ifndef TAR_ARCHIVE_H
#define TAR_ARCHIVE_H

#include <time.h>

#include "pgtar.h"

#include "shared/compress.h"

/* ----------
 * The length of a compressed frame, from its header.
 * ----------
 */

/*
 * The bytes of the zstd or lz4 frame that begins there, of those that are
 * left; 0 if it is none, or cut.  Nothing is decompressed.  Other methods
 * have no frames that tell: all that is left.
 */
extern uint64 compressed_frame_bytes(const void *frame, uint64 left,
									 CompressMethod method);

typedef struct TarArchive TarArchive;

/*
 * A new file of mode 0600, for at most max_pieces pieces, with a few bytes
 * reserved for each.  It is made before the processes that write it are
 * forked.  Exits with a message on failure, as all of them do.
 */
extern TarArchive *tar_archive_new(const char *path,
								   const CompressSpec *compress,
								   int max_pieces);

/*
 * Write a piece, which is a frame already.  Waits for the pieces before.  One
 * that a process has died of must, once its end is known, be as long again:
 * it is an error if it is not, since others are behind it.
 */
extern void tar_archive_put(TarArchive *archive, int piece, const void *frame,
							size_t len);

/*
 * No process writes any more: append the end of the archive, behind n_pieces
 * pieces, and close the file.  It is an error if one of them is missing.  The
 * file is not flushed.  Returns its bytes; the archive is freed.
 */
extern uint64 tar_archive_finish(TarArchive *archive, int n_pieces);

/*
 * The header of a member: its path within the archive, the target of a
 * symbolic link or NULL, its bytes, and its mode, S_IFDIR included for a
 * directory.  It is an error if tar has no room for the path.
 */
extern void tar_archive_header(char header[TAR_BLOCK_SIZE], const char *path,
							   const char *link_target, uint64 size,
							   mode_t mode, time_t mtime);

#endif							/* TAR_ARCHIVE_H */
