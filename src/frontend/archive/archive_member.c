/*
 * archive_member.c
 *		Reads the data of an entry.
 */
#include "base/fe_compat.h"

#include "archive/archive_lookup.h"
#include "archive/archive_member.h"
#include "stream/data_reader.h"

struct ArchiveMember
{
	char	   *what;			/* for messages */
	CustomBlocks *blocks;		/* NULL of a directory */
	DataReader *reader;
	char	   *ahead;			/* read, and not yet asked for; or NULL */
	size_t		ahead_len;
	size_t		ahead_used;
};

/* To begin with, for what is read ahead: most tables are small. */
#define AHEAD_BYTES ((size_t) 128 * 1024)

/* For messages; owned. */
static char *
describe(const TocEntry *entry)
{
	return psprintf("data of entry %d, %s \"%s\"", entry->dump_id, entry->desc,
					entry->tag);
}

/* ----------
 * Opened
 * ----------
 */
CustomBlocks *
archive_member_block(const Archive *archive, const TocEntry *entry,
					 CustomBlockType type, char **problem)
{
	CustomBlocks *blocks;
	CustomBlockType found_type;
	int			dump_id;
	const char *wrong = NULL;
	char	   *what;

	blocks = custom_block_new(archive->fd);
	custom_block_seek(blocks, entry->data_offset);
	if (entry->data_state != TOC_DATA_AT_OFFSET)
		wrong = "there are none";
	else if (!custom_block_begin(blocks, &found_type, &dump_id))
		wrong = custom_block_error(blocks) ? custom_block_error(blocks) :
			"unexpected end of file";
	else if (dump_id != entry->dump_id)
		wrong = "other data are where they should be";
	else if (found_type != type)
		wrong = "they are of another kind";
	if (wrong == NULL)
		return blocks;

	custom_block_free(blocks);
	what = describe(entry);
	*problem = psprintf("could not read %s: %s", what, wrong);
	free(what);
	return NULL;
}

static bool
open_block(ArchiveMember *member, const Archive *archive,
		   const TocEntry *entry, char **problem)
{
	member->blocks = archive_member_block(archive, entry, CUSTOM_BLOCK_ROWS,
										  problem);
	if (member->blocks == NULL)
		return false;
	member->reader = data_reader_new_custom(member->blocks,
											archive->toc->method);
	return true;
}

static bool
open_file(ArchiveMember *member, const Archive *archive, const TocEntry *entry,
		  char **problem)
{
	bool		has_file = entry->filename && entry->filename[0];
	CompressMethod method;
	const char *wrong = "there are none";
	int			fd = -1;

	if (has_file)
		fd = archive_lookup_open(archive->fd, entry->filename, &method, &wrong);
	if (fd < 0)
	{
		*problem = psprintf("could not read %s: %s%s%s%s", member->what,
							has_file ? "file \"" : "",
							has_file ? entry->filename : "",
							has_file ? "\" " : "", wrong);
		return false;
	}
	member->reader = data_reader_new_file(fd, method);
	return true;
}

ArchiveMember *
archive_member_open(const Archive *archive, const TocEntry *entry,
					char **problem)
{
	ArchiveMember *member = pg_malloc0(sizeof(ArchiveMember));

	member->what = describe(entry);
	if (archive->kind == ARCHIVE_CUSTOM ?
		open_block(member, archive, entry, problem) :
		open_file(member, archive, entry, problem))
		return member;
	archive_member_close(member);
	return NULL;
}

/* ----------
 * Read
 * ----------
 */
bool
archive_member_read_ahead(ArchiveMember *member, size_t size)
{
	size_t		room = 0;
	ssize_t		len = 1;

	while (len > 0 && member->ahead_len < size)
	{
		if (member->ahead_len == room)
		{
			room = Min(size, Max(AHEAD_BYTES, room * 2));
			member->ahead = pg_realloc(member->ahead, room);
		}
		len = data_reader_read(member->reader,
							   member->ahead + member->ahead_len,
							   room - member->ahead_len);
		if (len > 0)
			member->ahead_len += len;
	}
	return len <= 0;
}

/* From memory, which is given back behind its last byte. */
static size_t
take_ahead(ArchiveMember *member, void *buf, size_t size)
{
	size_t		part = Min(size, member->ahead_len - member->ahead_used);

	memcpy(buf, member->ahead + member->ahead_used, part);
	member->ahead_used += part;
	if (member->ahead_used == member->ahead_len)
	{
		free(member->ahead);
		member->ahead = NULL;
		member->ahead_len = member->ahead_used = 0;
	}
	return part;
}

ssize_t
archive_member_read(ArchiveMember *member, void *buf, size_t size)
{
	if (member->ahead_len > 0)
		return take_ahead(member, buf, size);
	return data_reader_read(member->reader, buf, size);
}

char *
archive_member_error(const ArchiveMember *member)
{
	return psprintf("could not read %s: %s", member->what,
					data_reader_error(member->reader));
}

uint64
archive_member_stored_bytes(const ArchiveMember *member)
{
	return data_reader_stored_bytes(member->reader);
}

void
archive_member_close(ArchiveMember *member)
{
	if (member->reader)
		data_reader_free(member->reader);
	if (member->blocks)
		custom_block_free(member->blocks);
	free(member->ahead);
	free(member->what);
	free(member);
}
