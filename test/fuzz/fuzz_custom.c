/*
 * fuzz_custom.c
 *		An archive file in the custom format, of any bytes: its table of
 *		contents, the data of each entry where it says they are, and all
 *		blocks one after the other.
 */
#include "base/fe_compat.h"

#include <sys/mman.h>
#include <unistd.h>

#include "archive/archive_member.h"
#include "archive/toc_file.h"
#include "stream/decompress.h"
#include "stream/text_pieces.h"

/* A few bytes can stand for very many: enough is enough. */
#define OUTPUT_MAX (1024 * 1024)
#define ENTRIES_MAX 8

static size_t made;

static size_t
read_raw(void *arg, void *buf, size_t len)
{
	return custom_block_raw(arg, buf, len);
}

static ssize_t
read_member(void *arg, void *buf, size_t size)
{
	ssize_t		len = made < OUTPUT_MAX ? archive_member_read(arg, buf, size) : 0;

	if (len < 0)
		free(archive_member_error(arg));
	made += Max(len, 0);
	return len;
}

static void
read_rows(const Archive *archive, const TocEntry *entry)
{
	char	   *problem;
	ArchiveMember *member = archive_member_open(archive, entry, &problem);
	TextPieces *pieces;
	const char *data;
	uint64		piece;
	ssize_t		len;

	if (member == NULL)
	{
		free(problem);
		return;
	}
	pieces = text_pieces_new(read_member, member, 1 + entry->dump_id % 100);
	while ((len = text_pieces_next(pieces, &data, &piece)) > 0)
		;
	text_pieces_free(pieces);
	archive_member_close(member);
}

static void
read_objects(const Archive *archive, const TocEntry *entry)
{
	char	   *problem;
	ArchiveObjects *objects = archive_objects_open(archive, entry, &problem);
	char		buf[8192];
	ssize_t		len;
	Oid			oid;

	if (objects == NULL)
	{
		free(problem);
		return;
	}
	while (made < OUTPUT_MAX && archive_objects_next(objects, &oid))
		while (oid % 4 != 0 && made < OUTPUT_MAX &&
			   (len = archive_objects_read(objects, buf, sizeof(buf))) > 0)
			made += len;
	free(archive_objects_error(objects));
	archive_objects_close(objects);
}

extern int	LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	Archive		archive = {.path = "",.kind = ARCHIVE_CUSTOM};
	CustomBlocks *blocks;
	CustomBlockType type;
	const char *problem;
	int			dump_id;

	archive.fd = memfd_create("archive", 0);
	if (archive.fd < 0 || write(archive.fd, data, size) != (ssize_t) size)
		abort();
	made = 0;
	blocks = custom_block_new(archive.fd);
	archive.toc = toc_read_file(read_raw, blocks, true, &problem);
	if (archive.toc == NULL && problem == NULL)
		abort();
	if (archive.toc)
	{
		while (custom_block_begin(blocks, &type, &dump_id) &&
			   custom_block_skip(blocks, type))
			;
		for (int i = 0; i < Min(archive.toc->n_entries, ENTRIES_MAX); i++)
		{
			read_rows(&archive, &archive.toc->entries[i]);
			read_objects(&archive, &archive.toc->entries[i]);
		}
		toc_free(archive.toc);
	}
	custom_block_free(blocks);
	close(archive.fd);
	return 0;
}
