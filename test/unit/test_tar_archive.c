/*
 * test_tar_archive.c
 *		Processes write a tar file together: its pieces are in their order,
 *		no matter which process is first, or which one dies.
 */
#include "base/fe_compat.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/compress.h"

#include "base/shared_memory.h"
#include "basebackup/tar_archive.h"
#include "stream/decompress.h"
#include "unit_test.h"

#define N_PIECES 60
#define N_WRITERS 4
#define MAX_PIECE_BYTES 100000

/*
 * Whose pieces are first begins when all others have: they come before it.
 */
typedef struct Writing
{
	TarArchive *archive;
	CompressSpec compress;
	int		   *n_begun;		/* shared */
} Writing;

/* Some are empty, others do not get smaller. */
static size_t
make_piece(int piece, char *data)
{
	size_t		len = piece % 7 == 3 ? 0 : (size_t) piece * 7919 % MAX_PIECE_BYTES;
	uint32		state = piece + 1;

	for (size_t i = 0; i < len; i++)
	{
		state = state * 1103515245 + 12345;
		data[i] = piece % 2 == 0 ? (char) (state >> 16) : 'a' + piece % 26;
	}
	return len;
}

static void
put_piece(const Writing *writing, BlockCompressor *compressor, int piece)
{
	static char data[MAX_PIECE_BYTES];
	static char frame[2 * MAX_PIECE_BYTES];
	size_t		len = make_piece(piece, data);

	if (compressor == NULL)
		tar_archive_put(writing->archive, piece, data, len);
	else
		tar_archive_put(writing->archive, piece, frame,
						block_compressor_whole(compressor, data, len, frame));
}

/* Every N_WRITERS-th piece. */
static void
write_pieces(const Writing *writing, int writer)
{
	BlockCompressor *compressor = NULL;

	if (writing->compress.method != COMPRESS_NONE)
		compressor = block_compressor_new(&writing->compress, false);
	if (writer == 0)
		while (__atomic_load_n(writing->n_begun, __ATOMIC_SEQ_CST) < N_WRITERS - 1)
			pg_usleep(1000);
	else
		__atomic_add_fetch(writing->n_begun, 1, __ATOMIC_SEQ_CST);
	for (int piece = writer; piece < N_PIECES; piece += N_WRITERS)
		put_piece(writing, compressor, piece);
}

/* What the file holds, decompressed; returns its length. */
static size_t
read_file(const char *path, CompressMethod method, char *out, size_t room)
{
	static char in[4 * 1024 * 1024];
	FILE	   *file = fopen(path, "r");
	size_t		len = fread(in, 1, sizeof(in), file);
	size_t		n_out = 0;
	ssize_t		got;
	Decompressor *d;

	fclose(file);
	if (method == COMPRESS_NONE)
	{
		memcpy(out, in, len);
		return len;
	}
	d = decompressor_new(method, DECOMPRESS_FILE);
	decompressor_feed(d, in, len);
	while ((got = decompressor_fetch(d, out + n_out, room - n_out)) > 0)
		n_out += got;
	ok(got == 0 && decompressor_complete(d), "whole frames");
	decompressor_free(d);
	return n_out;
}

/* All pieces, and the archive's end. */
static bool
is_whole(const char *data, size_t len)
{
	static char piece_data[MAX_PIECE_BYTES];
	const char	zeros[2 * TAR_BLOCK_SIZE] = {0};
	size_t		pos = 0;

	for (int piece = 0; piece < N_PIECES; piece++)
	{
		size_t		piece_len = make_piece(piece, piece_data);

		if (len - pos < piece_len || memcmp(data + pos, piece_data, piece_len) != 0)
			return false;
		pos += piece_len;
	}
	return len - pos == sizeof(zeros) && memcmp(data + pos, zeros, sizeof(zeros)) == 0;
}

static void
check_writers(const char *path, CompressMethod method)
{
	static char data[N_PIECES * MAX_PIECE_BYTES];
	Writing		writing = {NULL, {method, method == COMPRESS_ZSTD ? 1 : 0, false, 0},
	shared_memory_new(1, sizeof(int))};
	struct stat st;
	uint64		bytes;
	size_t		len;

	writing.archive = tar_archive_new(path, &writing.compress, N_PIECES);
	for (int writer = 0; writer < N_WRITERS; writer++)
	{
		if (fork() != 0)
			continue;
		write_pieces(&writing, writer);
		_exit(0);
	}
	while (wait(NULL) > 0)
		;
	bytes = tar_archive_finish(writing.archive, N_PIECES);
	is_number(stat(path, &st) == 0 ? st.st_size : -1, bytes, "bytes of the file");
	is_number(st.st_mode & 07777, 0600, "its mode");
	len = read_file(path, method, data, sizeof(data));
	ok(is_whole(data, len), compress_method_name(method));
	unlink(path);
}

/* ----------
 * Processes that die
 * ----------
 */
static void
die_while_writing(const void *archive)
{
	tar_archive_put((TarArchive *) archive, 1, (const void *) 1, 6);
}

static void
finish_two(const void *archive)
{
	tar_archive_finish((TarArchive *) archive, 2);
}

static void
finish_three(const void *archive)
{
	tar_archive_finish((TarArchive *) archive, 3);
}

static void
put_longer(const void *archive)
{
	tar_archive_put((TarArchive *) archive, 1, "seconds", 7);
}

static void
put_beyond(const void *archive)
{
	tar_archive_put((TarArchive *) archive, 3, "", 0);
}

static void
check_deaths(const char *dir)
{
	const CompressSpec none = {COMPRESS_NONE, 0, false, 0};
	static char data[4096];
	TarArchive *archive;
	const char *path = "m";

	/* what is told does not depend on where that is */
	if (chdir(dir) != 0)
		pg_fatal("could not change directory: %m");
	archive = tar_archive_new(path, &none, 3);
	tar_archive_put(archive, 0, "first ", 6);
	/* there are no bytes at that address: it ends where they are written */
	child_ends(die_while_writing, archive, 1,
			   "unit_test: error: could not write file \"m\": Bad address\n",
			   "a process dies when others know where its piece ends");
	tar_archive_put(archive, 2, "third", 5);
	child_ends(finish_three, archive, 1,
			   "unit_test: error: file \"m\" is incomplete\n"
			   "unit_test: detail: Piece 2 of 3 was not written.\n"
			   "unit_test: hint: Run the same command again.\n",
			   "what it had is not forgotten");
	child_ends(finish_two, archive, 1,
			   "unit_test: error: file \"m\" is incomplete\n"
			   "unit_test: detail: Piece 2 of 2 was not written.\n"
			   "unit_test: hint: Run the same command again.\n",
			   "as the last one, too");
	child_ends(put_longer, archive, 1,
			   "unit_test: error: could not write file \"m\" again after a worker was lost: the server returned different data\n"
			   "unit_test: hint: Run the same command again.\n",
			   "longer than there is room for");
	child_ends(put_beyond, archive, 1,
			   "unit_test: error: internal error: file \"m\" was planned with 3 pieces, and has no piece 4\n",
			   "more pieces than were to come");
	tar_archive_put(archive, 1, "second", 6);
	is_number(tar_archive_finish(archive, 3), 17 + 2 * TAR_BLOCK_SIZE,
			  "another process puts it");
	is_number(read_file(path, COMPRESS_NONE, data, sizeof(data)),
			  17 + 2 * TAR_BLOCK_SIZE, "nothing else is there");
	is_text(data, "first secondthird", "in its place");
	unlink(path);
	if (chdir("/") != 0)
		pg_fatal("could not change directory: %m");
}

/* ----------
 * Headers
 * ----------
 */
static void
header_of(const void *path)
{
	char		header[TAR_BLOCK_SIZE];

	tar_archive_header(header, path, NULL, 0, S_IFREG | 0600, 0);
}

static void
check_headers(void)
{
	char		header[TAR_BLOCK_SIZE];
	char		path[101];

	tar_archive_header(header, "base/1/2619.1", NULL, 1234, S_IFREG | 0640, 0);
	is_text(header, "base/1/2619.1", "a file's path");
	ok(memcmp(header + 124, "00000002322 ", 12) == 0, "its size");
	ok(memcmp(header + 100, "0000640 ", 8) == 0, "its mode");
	is_number(header[156], '0', "its kind");
	is_number(read_tar_number(header + 148, 8), tarChecksum(header), "a checksum");
	/* more than the digits of the field have room for */
	tar_archive_header(header, "large", NULL, UINT64CONST(100) << 30,
					   S_IFREG | 0600, 0);
	is_number(read_tar_number(header + 124, 12), INT64CONST(100) << 30,
			  "a size of 100 GB");
	tar_archive_header(header, "pg_tblspc/16384", "/a/b", 0, S_IFLNK | 0777, 0);
	is_number(header[156], '2', "a symbolic link");
	is_text(header + 157, "/a/b", "its target");
	tar_archive_header(header, "base/1", NULL, 0, S_IFDIR | 0700, 0);
	is_text(header, "base/1/", "a directory's path");
	memset(path, 'p', 100);
	path[100] = '\0';
	child_ends(header_of, path + 1, 0, "", "99 bytes of a path");
	child_ends(header_of, path, 1, "unit_test: error: file name too long for tar format: "
			   "\"pppppppppppppppppppppppppppppppppppppppppppppppppp"
			   "pppppppppppppppppppppppppppppppppppppppppppppppppp\"\n",
			   "100 bytes of a path");
}

void
test_tar_archive(void)
{
	char		dir[] = "/tmp/pg_pardump_unit.XXXXXX";
	char		path[64];

	if (mkdtemp(dir) == NULL)
		pg_fatal("could not create directory \"%s\": %m", dir);
	snprintf(path, sizeof(path), "%s/base.tar", dir);
	check_writers(path, COMPRESS_NONE);
	check_writers(path, COMPRESS_LZ4);
	check_writers(path, COMPRESS_ZSTD);
	check_deaths(dir);
	check_headers();
	rmdir(dir);
}
