/*
 * test_extract.c
 *		What processes have written into a tar file together, others extract
 *		together: the same files.
 */
#include "base/fe_compat.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/compress.h"

#include "common/file_perm.h"

#include "basebackup/tablespace_map.h"
#include "basebackup/tar_archive.h"
#include "extract/extract_archive.h"
#include "pqexpbuffer.h"
#include "unit_test.h"

#define N_FILES 40
#define PIECE_BYTES 100000

/* Of these, every tenth goes over many pieces. */
static size_t
make_file(int no, char *data)
{
	size_t		len = no % 10 == 9 ? 1000000 + no : no % 7 == 0 ? 0 : (size_t) no * 777;
	uint32		state = no + 1;

	for (size_t i = 0; i < len; i++)
	{
		state = state * 1103515245 + 12345;
		data[i] = no % 2 == 0 ? (char) (state >> 16) : 'a' + i / 1000 % 26;
	}
	return len;
}

static void
add_member(PQExpBuffer tar, const char *path, const char *data, size_t len,
		   mode_t mode)
{
	char		header[TAR_BLOCK_SIZE];

	tar_archive_header(header, path, NULL, len, mode, 0);
	appendBinaryPQExpBuffer(tar, header, sizeof(header));
	appendBinaryPQExpBuffer(tar, data, len);
	for (size_t i = tarPaddingBytesRequired(len); i > 0; i--)
		appendPQExpBufferChar(tar, '\0');
}

/*
 * A directory, files of which half are in it, in pieces of that length (0:
 * all in one).
 */
static void
make_archive(const char *path, CompressMethod method, size_t piece_bytes)
{
	static char data[2000000];
	CompressSpec compress = {method, method == COMPRESS_ZSTD ? 1 : 0, false, 0};
	TarArchive *archive = tar_archive_new(path, &compress, 10000);
	PQExpBuffer tar = createPQExpBuffer();
	int			n_pieces = 0;
	BlockCompressor *compressor = NULL;
	char	   *frame;

	add_member(tar, "sub", "", 0, S_IFDIR | 0750);
	for (int no = 0; no < N_FILES; no++)
	{
		char		name[32];

		snprintf(name, sizeof(name), no % 2 ? "sub/%d" : "%d", no);
		add_member(tar, name, data, make_file(no, data), S_IFREG | 0640);
	}
	if (piece_bytes == 0)
		piece_bytes = tar->len;
	if (method != COMPRESS_NONE)
		compressor = block_compressor_new(&compress, false);
	frame = pg_malloc(compressor ? block_compressor_bound(compressor, piece_bytes) : 1);
	for (size_t pos = 0; pos < tar->len; pos += piece_bytes)
	{
		size_t		len = Min(piece_bytes, tar->len - pos);

		if (compressor)
			tar_archive_put(archive, n_pieces++, frame,
							block_compressor_whole(compressor, tar->data + pos, len, frame));
		else
			tar_archive_put(archive, n_pieces++, tar->data + pos, len);
	}
	tar_archive_finish(archive, n_pieces);
	free(frame);
	destroyPQExpBuffer(tar);
}

/* How many files are what they should be; they are removed. */
static int
take_files(const char *dir)
{
	static char expected[2000000];
	static char found[2000000];
	char		path[128];
	int			n_equal = 0;

	for (int no = 0; no < N_FILES; no++)
	{
		struct stat st;
		size_t		len = make_file(no, expected);
		int			fd;

		snprintf(path, sizeof(path), no % 2 ? "%s/sub/%d" : "%s/%d", dir, no);
		fd = open(path, O_RDONLY | PG_BINARY);
		if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size == len &&
			(st.st_mode & 07777) == 0640 && read(fd, found, len) == len &&
			memcmp(found, expected, len) == 0)
			n_equal++;
		close(fd);
		unlink(path);
	}
	snprintf(path, sizeof(path), "%s/sub", dir);
	rmdir(path);
	return n_equal;
}

static void
check_archive(CompressMethod method, size_t piece_bytes, int n_workers,
			  const char *what)
{
	make_archive("base.tar", method, piece_bytes);
	mkdir("to", 0700);
	is_number(extract_archive("base.tar", method, "to", "", n_workers,
							  attributes_new()), 0, "no links");
	is_number(take_files("to"), N_FILES, what);
	rmdir("to");
	unlink("base.tar");
}

/* ----------
 * Damage
 * ----------
 */
static void
extract_zstd(const void *arg)
{
	extract_archive("base.tar", COMPRESS_ZSTD, "to", "", 2, attributes_new());
}

static void
extract_lz4(const void *arg)
{
	extract_archive("base.tar", COMPRESS_LZ4, "to", "", 2, attributes_new());
}

static void
extract_none(const void *arg)
{
	extract_archive("base.tar", COMPRESS_NONE, "to", "", 2, attributes_new());
}

static void
check_cut(CompressMethod method, ChildCallback extract, const char *message)
{
	struct stat st;

	make_archive("base.tar", method, 0);
	if (stat("base.tar", &st) < 0 ||
		truncate("base.tar", method == COMPRESS_NONE ? st.st_size - 512 : 1000) < 0)
		pg_fatal("could not cut a file: %m");
	child_ends(extract, NULL, 1, message, "a cut archive");
	unlink("base.tar");
	take_files("to");
}

/* Within a frame, or within the archive's end. */
#define COPY_HINT "unit_test: hint: Use another copy of the backup, or make a new backup.\n"

static void
check_damage(void)
{
	mkdir("to", 0700);
	check_cut(COMPRESS_ZSTD, extract_zstd,
			  "unit_test: error: file \"base.tar\" is damaged or truncated\n"
			  "unit_test: detail: There is no complete zstd frame at offset 0.\n"
			  COPY_HINT);
	check_cut(COMPRESS_LZ4, extract_lz4,
			  "unit_test: error: file \"base.tar\" is damaged or truncated\n"
			  "unit_test: detail: There is no complete lz4 frame at offset 0.\n"
			  COPY_HINT);
	check_cut(COMPRESS_NONE, extract_none,
			  "unit_test: error: file \"base.tar\" is truncated\n"
			  COPY_HINT);
	rmdir("to");
}

/* ----------
 * The map
 * ----------
 */
static void
check_map(void)
{
	TablespaceMap map = {2, (MappedTablespace[])
		{
			{
				16384, "/a b"
			},
			{
				4294967295U, "/back\\slash\nline"
			}
	}};
	TablespaceMap *found;

	tablespace_map_write(&map, "map");
	found = tablespace_map_read("map");
	unlink("map");
	is_number(found->n_tablespaces, 2, "tablespaces of a map");
	is_number(found->tablespaces[1].oid, 4294967295U, "an OID");
	is_text(found->tablespaces[0].location, "/a b", "a location");
	is_text(found->tablespaces[1].location, "/back\\slash\nline", "a strange one");
	is_number(tablespace_map_read("none")->n_tablespaces, 0, "no map");
}

void
test_extract(void)
{
	char		dir[] = "/tmp/pg_pardump_unit.XXXXXX";

	if (mkdtemp(dir) == NULL || chdir(dir) < 0)
		pg_fatal("could not create directory \"%s\": %m", dir);
	umask(PG_MODE_MASK_GROUP);
	check_archive(COMPRESS_NONE, PIECE_BYTES, 3, "none");
	check_archive(COMPRESS_LZ4, PIECE_BYTES, 3, "lz4");
	check_archive(COMPRESS_ZSTD, PIECE_BYTES, 3, "zstd");
	check_archive(COMPRESS_ZSTD, 777, 4, "zstd, cut anywhere");
	check_archive(COMPRESS_ZSTD, 0, 3, "one frame, as of other programs");
	check_damage();
	check_map();
	if (chdir("/") < 0 || rmdir(dir) < 0)
		pg_fatal("could not remove directory \"%s\": %m", dir);
}
