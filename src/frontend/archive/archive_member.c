/*
 * archive_member.c
 *		Reads the data of an entry.
 */
#include "base/fe_compat.h"

#include "archive/archive_file.h"
#include "archive/archive_lookup.h"
#include "archive/archive_member.h"
#include "stream/decompress.h"

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

/* Of rows, at a time. */
#define READ_BYTES (128 * 1024)

#define MARK_BYTES ((int) sizeof(ARCHIVE_END_OF_ROWS) - 1)

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

/* ----------
 * Rows
 *
 * They end with a mark, for psql.  It is not sent, but must be there: data
 * that end without it have been cut.
 * ----------
 */

/* The last bytes are held back, as they may be the mark. */
typedef struct RowsText
{
	char		buffer[MARK_BYTES + READ_BYTES];
	size_t		held;			/* at the buffer's begin */
	bool		at_line;		/* all before these is whole lines */
} RowsText;

/* Pass on what cannot be the mark, of len bytes that follow what is held. */
static void
pass_on(RowsText *text, size_t len, Sink *sink)
{
	size_t		all = text->held + len;
	size_t		part = all > MARK_BYTES ? all - MARK_BYTES : 0;

	if (part > 0)
	{
		sink_write(sink, text->buffer, part);
		text->at_line = text->buffer[part - 1] == '\n';
		memmove(text->buffer, text->buffer + part, all - part);
	}
	text->held = all - part;
}

static bool
ends_with_mark(const RowsText *text)
{
	return text->held == MARK_BYTES && text->at_line &&
		memcmp(text->buffer, ARCHIVE_END_OF_ROWS, MARK_BYTES) == 0;
}

char *
archive_member_send_rows(ArchiveMember *member, Sink *sink,
						 char *const *stop)
{
	RowsText   *text = pg_malloc0(sizeof(RowsText));
	char	   *problem = NULL;
	ssize_t		len;

	text->at_line = true;
	while ((len = archive_member_read(member, text->buffer + text->held,
									  READ_BYTES)) > 0 && *stop == NULL)
		pass_on(text, len, sink);
	if (len < 0)
		problem = archive_member_error(member);
	else if (*stop == NULL && !ends_with_mark(text))
		problem = pg_strdup("the data do not end as rows do");
	free(text);
	return problem;
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
