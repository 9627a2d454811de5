/*
 * test_tar_reader.c
 *		A tar archive is read with any buffer sizes, and any contents.
 */
#include "base/fe_compat.h"

#include <sys/stat.h>

#include "basebackup/tar_archive.h"
#include "extract/tar_reader.h"
#include "pqexpbuffer.h"
#include "unit_test.h"

static void
add(PQExpBuffer tar, const char *path, const char *link, const char *data,
	mode_t mode)
{
	char		header[TAR_BLOCK_SIZE];
	size_t		len = data ? strlen(data) : 0;

	tar_archive_header(header, path, link, len, mode, 0);
	appendBinaryPQExpBuffer(tar, header, sizeof(header));
	appendPQExpBufferStr(tar, data ? data : "");
	for (size_t i = tarPaddingBytesRequired(len); i > 0; i--)
		appendPQExpBufferChar(tar, '\0');
}

static void
end(PQExpBuffer tar)
{
	for (int i = 0; i < 2 * TAR_BLOCK_SIZE; i++)
		appendPQExpBufferChar(tar, '\0');
}

/*
 * What there is in it, when it comes in pieces of that length: parts of one
 * file that follow each other are one.
 */
static const char *
contents(const char *data, size_t len, size_t piece)
{
	static PQExpBuffer found = NULL;
	TarReader	reader = {0};
	TarPart		part;
	TarResult	result = TAR_MORE;
	const char *problem;

	if (found == NULL)
		found = createPQExpBuffer();
	resetPQExpBuffer(found);
	for (size_t pos = 0; pos < len; pos += piece)
	{
		const char *next = data + pos;
		size_t		left = Min(piece, len - pos);

		while ((result = tar_reader_next(&reader, &next, &left, &part,
										 &problem)) == TAR_PART)
		{
			if (part.offset == 0)
				appendPQExpBuffer(found, "%s%c %s %o:", found->len > 0 ? "|" : "",
								  "fdl"[part.member.kind], part.member.path,
								  (int) part.member.mode);
			appendBinaryPQExpBuffer(found, part.data, part.len);
		}
		if (result == TAR_DAMAGED)
			return problem;
	}
	return tar_reader_ended(&reader) ? found->data : "cut off";
}

static void
check_cuts(void)
{
	PQExpBuffer tar = createPQExpBuffer();
	const char *expected = "d base 700:|f base/1 640:one|f empty 600:|"
		"l pg_tblspc/16384 777:|f last 600:0123456789";
	int			n_equal = 0;

	add(tar, "./base/", NULL, NULL, S_IFDIR | 0700);
	add(tar, "base//1", NULL, "one", S_IFREG | 0640);
	add(tar, "empty", NULL, "", S_IFREG | 0600);
	add(tar, "pg_tblspc/16384", "/elsewhere", NULL, S_IFLNK | 0777);
	add(tar, "last", NULL, "0123456789", S_IFREG | 0600);
	end(tar);
	is_text(contents(tar->data, tar->len, tar->len), expected, "all at once");
	for (size_t piece = 1; piece < 1100; piece++)
		if (strcmp(contents(tar->data, tar->len, piece), expected) == 0)
			n_equal++;
	is_number(n_equal, 1099, "in pieces of any length");
	is_text(contents(tar->data, tar->len - 1, tar->len), "cut off", "a byte is missing");
	is_text(contents(tar->data, tar->len - 2 * TAR_BLOCK_SIZE, tar->len), "cut off",
			"its end is missing");
	is_text(contents(tar->data, 600, tar->len), "cut off", "within a header");
	destroyPQExpBuffer(tar);
}

/* What else is told of a member. */
static void
check_attributes(void)
{
	char		header[TAR_BLOCK_SIZE];
	const char *next = header;
	size_t		left = sizeof(header);
	TarReader	reader = {0};
	TarPart		part;
	const char *problem;

	tar_archive_header(header, "file", NULL, 0, S_IFREG | 0640, 1234567890);
	/* the longest names have no zero behind them */
	memset(header + 265, 'u', 32);
	memset(header + 297, 'g', 32);
	print_tar_number(header + 108, 8, 1001);
	print_tar_number(header + 116, 8, 1002);
	print_tar_number(header + 148, 8, tarChecksum(header));
	ok(tar_reader_next(&reader, &next, &left, &part, &problem) == TAR_PART,
	   "a member");
	is_number(part.member.mtime, 1234567890, "its time");
	is_number(part.member.uid, 1001, "its user's number");
	is_number(part.member.gid, 1002, "its group's number");
	is_text(part.member.user, "uuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuu", "its user");
	is_text(part.member.group, "gggggggggggggggggggggggggggggggg", "its group");
}

/* Any byte of a header may be another: its checksum tells. */
static void
check_damage(void)
{
	PQExpBuffer tar = createPQExpBuffer();
	int			n_unseen = 0;

	add(tar, "file", NULL, "data", S_IFREG | 0600);
	end(tar);
	for (int i = 0; i < TAR_BLOCK_SIZE; i++)
		for (int value = 1; value < 256; value += 7)
		{
			tar->data[i] ^= value;
			if (strcmp(contents(tar->data, tar->len, 1000),
					   "the checksum of a header is wrong") != 0 &&
				(i < 148 || i >= 156))
				n_unseen++;
			tar->data[i] ^= value;
		}
	is_number(n_unseen, 0, "a damaged header is seen");
	destroyPQExpBuffer(tar);
}

/* A header whose checksum is right, with another byte in it. */
static void
check_forged(const char *path, const char *link, mode_t mode, int at, int value,
			 const char *expected, const char *what)
{
	PQExpBuffer tar = createPQExpBuffer();

	add(tar, path, link, NULL, mode);
	if (at >= 0)
	{
		tar->data[at] = value;
		print_tar_number(tar->data + 148, 8, tarChecksum(tar->data));
	}
	end(tar);
	is_text(contents(tar->data, tar->len, tar->len), expected, what);
	destroyPQExpBuffer(tar);
}

void
test_tar_reader(void)
{
	const char *path = "a path does not belong to a base backup";
	const char *link = "a symbolic link is not that of a tablespace";
	const char *kind = "a member is not a file, directory or symbolic link";
	mode_t		file = S_IFREG | 0600;

	check_cuts();
	check_attributes();
	check_damage();
	check_forged("/etc/passwd", NULL, file, -1, 0, path, "an absolute path");
	check_forged("../x", NULL, file, -1, 0, path, "a path upward");
	check_forged("base/../../x", NULL, file, -1, 0, path, "upward from below");
	check_forged("base/..", NULL, file, -1, 0, path, "upward at its end");
	check_forged("..x/...", NULL, file, -1, 0, "f ..x/... 600:", "dots that are names");
	check_forged(".", NULL, file, -1, 0, path, "a file without a name");
	check_forged("./", NULL, S_IFDIR | 0700, -1, 0, "d . 700:", "the directory itself");
	check_forged("x", NULL, file, 345, 'p', path, "a path in two parts");
	check_forged("x", "/etc", S_IFLNK | 0777, -1, 0, link, "a link anywhere");
	check_forged("pg_tblspc", "/etc", S_IFLNK | 0777, -1, 0, link, "instead of a directory");
	check_forged("pg_tblspc/1/x", "/etc", S_IFLNK | 0777, -1, 0, link, "further below");
	check_forged("x", NULL, file, 156, '1', kind, "a hard link");
	check_forged("x", NULL, file, 156, '3', kind, "a device");
	check_forged("x", NULL, file, 156, 'L', kind, "a long name");
	check_forged("x", NULL, file, 124, (char) 0x80, "cut off", "a huge size");
	check_forged("x", NULL, file, 100, '7', "f x 600:", "more than permissions");
}
