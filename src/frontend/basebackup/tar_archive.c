/*
 * tar_archive.c
 *		A tar file that several processes write.
 *
 * Compressed pieces have different lengths, and the file contains them in
 * order.  So a worker can write its piece as soon as it knows where the
 * previous piece ends.  There is one word in shared memory per piece, which
 * contains its end and allows the next piece to begin.  So there is no lock
 * that a dying process could keep.
 *
 * A piece whose end has been published must keep its length, because later
 * pieces already have their places.  A worker that repeats the piece after a
 * loss must therefore produce the same number of bytes.
 */
#include "base/fe_compat.h"

#include <dirent.h>
#include <sys/stat.h>
#include <zstd.h>

#include "base/shared_memory.h"
#include "basebackup/tar_archive.h"
#include "stream/sink.h"

/* ----------
 * The length of a compressed frame, found without decompression.
 * ----------
 */

/* The parts of an lz4 frame (lz4_Frame_format.md). */
#define LZ4_MAGIC 0x184D2204
#define LZ4_SKIPPABLE_MAGIC 0x184D2A50
#define LZ4_SKIPPABLE_MASK 0xFFFFFFF0
#define LZ4_BLOCK_CHECKSUM 0x10
#define LZ4_CONTENT_SIZE 0x08
#define LZ4_CONTENT_CHECKSUM 0x04
#define LZ4_DICTIONARY_ID 0x01
#define LZ4_STORED_BLOCK 0x80000000

static uint32
number32(const uint8 *at)
{
	return at[0] | (uint32) at[1] << 8 | (uint32) at[2] << 16 |
		(uint32) at[3] << 24;
}

/*
 * The length of an lz4 frame, found by going from block to block; 0 if it is
 * damaged or truncated.  liblz4 has no function for this.
 */
static uint64
lz4_frame_bytes(const uint8 *frame, uint64 left)
{
	uint64		pos;
	uint8		flags;
	uint32		block;

	if (left < 8)
		return 0;
	if ((number32(frame) & LZ4_SKIPPABLE_MASK) == LZ4_SKIPPABLE_MAGIC)
		return left - 8 >= number32(frame + 4) ? 8 + (uint64) number32(frame + 4) : 0;
	if (number32(frame) != LZ4_MAGIC)
		return 0;
	flags = frame[4];

	/*
	 * The header consists of the magic number, flags, block size and a
	 * checksum, and of optional fields.
	 */
	pos = 7 + (flags & LZ4_CONTENT_SIZE ? 8 : 0) +
		(flags & LZ4_DICTIONARY_ID ? 4 : 0);
	do
	{
		if (pos + 4 > left)
			return 0;
		block = number32(frame + pos);
		pos += 4;
		if (block != 0)
			pos += (block & ~LZ4_STORED_BLOCK) +
				(flags & LZ4_BLOCK_CHECKSUM ? 4 : 0);
	} while (block != 0);
	pos += flags & LZ4_CONTENT_CHECKSUM ? 4 : 0;
	return pos <= left ? pos : 0;
}

uint64
compressed_frame_bytes(const void *frame, uint64 left, CompressMethod method)
{
	size_t		zstd_bytes;

	switch (method)
	{
		case COMPRESS_NONE:
		case COMPRESS_GZIP:
			return left;
		case COMPRESS_LZ4:
			return lz4_frame_bytes(frame, left);
		case COMPRESS_ZSTD:
			zstd_bytes = ZSTD_findFrameCompressedSize(frame, left);
			return ZSTD_isError(zstd_bytes) ? 0 : zstd_bytes;
	}
	return 0;
}

/* ----------
 * The archive.
 * ----------
 */

/* How long to wait before the previous piece is checked again. */
#define WAIT_US 1000

#define AGAIN_HINT "Run the same command again."

/* The word of a piece consists of its end, and of these two bits. */
#define PIECE_PLACED UINT64CONST(1) /* its end is known */
#define PIECE_WRITTEN UINT64CONST(2)
#define PIECE_END_SHIFT 2

/* The end of an archive: two blocks of zeros. */
#define END_BYTES (2 * TAR_BLOCK_SIZE)

struct TarArchive
{
	char	   *path;
	int			fd;
	CompressSpec compress;
	int			max_pieces;
	uint64	   *pieces;			/* words of the pieces, in shared memory */
};

TarArchive *
tar_archive_new(const char *path, const CompressSpec *compress,
				int max_pieces)
{
	TarArchive *archive = pg_malloc0(sizeof(TarArchive));

	archive->path = pg_strdup(path);
	archive->compress = *compress;
	archive->max_pieces = max_pieces;
	archive->pieces = shared_memory_new(max_pieces, sizeof(uint64));
	archive->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | PG_BINARY, 0600);
	if (archive->fd < 0)
		pg_fatal("could not create file \"%s\": %m", path);
	return archive;
}

static uint64
piece_word(const TarArchive *archive, int piece)
{
	return __atomic_load_n(&archive->pieces[piece], __ATOMIC_ACQUIRE);
}

static void
set_piece_word(TarArchive *archive, int piece, uint64 end, uint64 state)
{
	__atomic_store_n(&archive->pieces[piece], end << PIECE_END_SHIFT | state,
					 __ATOMIC_RELEASE);
}

/*
 * Wait until the end of the previous piece is known.  Workers get pieces in
 * order, and the worker with the lowest number does not wait, so the wait
 * ends.
 */
static uint64
wait_for_begin(const TarArchive *archive, int piece)
{
	uint64		before;

	if (piece == 0)
		return 0;
	while (!((before = piece_word(archive, piece - 1)) & PIECE_PLACED))
		pg_usleep(WAIT_US);
	return before >> PIECE_END_SHIFT;
}

static void
write_frame(const TarArchive *archive, const char *frame, size_t len,
			uint64 offset)
{
	if (!write_at(archive->fd, frame, len, offset))
		pg_fatal("could not write file \"%s\": %m", archive->path);
}

void
tar_archive_put(TarArchive *archive, int piece, const void *frame, size_t len)
{
	uint64		begin;
	uint64		word;

	if (piece < 0 || piece >= archive->max_pieces)
		pg_fatal("internal error: file \"%s\" was planned with %d pieces, and has no piece %d",
				 archive->path, archive->max_pieces, piece + 1);
	begin = wait_for_begin(archive, piece);
	word = piece_word(archive, piece);
	if ((word & PIECE_PLACED) && word >> PIECE_END_SHIFT != begin + len)
	{
		pg_log_error("could not write file \"%s\" again after a worker was lost: the server returned different data",
					 archive->path);
		pg_fatal_hint(AGAIN_HINT);
	}
	set_piece_word(archive, piece, begin + len, PIECE_PLACED);
	write_frame(archive, frame, len, begin);
	set_piece_word(archive, piece, begin + len, PIECE_PLACED | PIECE_WRITTEN);
}

/* Write the end of the archive as a separate frame; returns its length. */
static size_t
write_end(const TarArchive *archive, uint64 offset)
{
	const char	zeros[END_BYTES] = {0};
	BlockCompressor *compressor;
	char	   *frame;
	ssize_t		len;

	if (archive->compress.method == COMPRESS_NONE)
	{
		write_frame(archive, zeros, sizeof(zeros), offset);
		return sizeof(zeros);
	}
	compressor = block_compressor_new(&archive->compress, true);
	if (compressor == NULL)
		pg_fatal("out of memory");
	frame = pg_malloc(block_compressor_bound(compressor, sizeof(zeros)));
	len = block_compressor_whole(compressor, zeros, sizeof(zeros), frame);
	if (len < 0)
		pg_fatal("could not compress file \"%s\": %s", archive->path,
				 block_compressor_error(compressor));
	write_frame(archive, frame, len, offset);
	return len;
}

uint64
tar_archive_finish(TarArchive *archive, int n_pieces)
{
	uint64		end = 0;

	for (int piece = 0; piece < n_pieces; piece++)
	{
		uint64		word = piece_word(archive, piece);

		if (!(word & PIECE_WRITTEN))
		{
			pg_log_error("file \"%s\" is incomplete", archive->path);
			pg_log_error_detail("Piece %d of %d was not written.", piece + 1, n_pieces);
			pg_fatal_hint(AGAIN_HINT);
		}
		end = word >> PIECE_END_SHIFT;
	}
	end += write_end(archive, end);
	/* Network file systems may report a failed write only here. */
	if (close(archive->fd) < 0)
		pg_fatal("could not close file \"%s\": %m", archive->path);
	return end;
}

/*
 * SQL does not show the owner of a file.  So the owner's IDs are those that
 * PostgreSQL's programs write, and the names, which tar uses first, are
 * "postgres".
 */
#define TAR_UID 04000
#define TAR_GID 02000

void
tar_archive_header(char header[TAR_BLOCK_SIZE], const char *path,
				   const char *link_target, uint64 size, mode_t mode,
				   time_t mtime)
{
	switch (tarCreateHeader(header, path, link_target, (pgoff_t) size, mode,
							TAR_UID, TAR_GID, mtime))
	{
		case TAR_OK:
			break;
		case TAR_NAME_TOO_LONG:
			pg_fatal("file name too long for tar format: \"%s\"",
					 printable(path));
		case TAR_SYMLINK_TOO_LONG:
			pg_fatal("symbolic link target too long for tar format: file name \"%s\", target \"%s\"",
					 printable(path), printable(link_target));
	}
}

uint64
tar_archive_stored_bytes(const char *directory)
{
	DIR		   *d = opendir(directory);
	struct dirent *entry;
	struct stat st;
	uint64		bytes = 0;

	while (d && (entry = readdir(d)) != NULL)
		if (strstr(entry->d_name, ".tar") != NULL &&
			fstatat(dirfd(d), entry->d_name, &st, 0) == 0)
			bytes += st.st_size;
	if (d)
		closedir(d);
	return bytes;
}
