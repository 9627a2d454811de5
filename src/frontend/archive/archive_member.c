/*
 * archive_member.c
 *		Reads the data of an entry: rows, or large objects one by one.
 *
 * Both formats have data streams, which a DataReader reads
 * (stream/decompress.h).  This file finds where the data of an entry begin.
 * The entry may be from a damaged or forged archive.
 */
#include "base/fe_compat.h"

#include "archive/archive_dir.h"
#include "archive/archive_member.h"
#include "archive/archive_name.h"
#include "archive/archive_read.h"

struct ArchiveMember
{
	CustomBlocks *blocks;		/* NULL in a directory */
	DataReader *reader;
	char	   *ahead;			/* bytes that were read ahead, or NULL */
	size_t		ahead_len;
	size_t		ahead_used;
};

/* The initial size of the buffer for reading ahead: most tables are small. */
#define AHEAD_BYTES ((size_t) 128 * 1024)

/* Read this many bytes of rows at a time. */
#define READ_BYTES (128 * 1024)

#define MARK_BYTES ((int) sizeof(ARCHIVE_END_OF_ROWS) - 1)

char *
archive_member_unread(const TocEntry *entry)
{
	return psprintf("could not read data of entry %d, %s \"%s\"",
					entry->dump_id, entry->desc, entry->tag);
}

/* ----------
 * Opening a member
 * ----------
 */

/*
 * Returns a reader of the block of an entry in the custom format, which must
 * have this type.  Returns NULL and sets *problem to the cause, owned, if it
 * is not there.
 */
static CustomBlocks *
archive_member_block(const Archive *archive, const TocEntry *entry,
					 CustomBlockType type, char **problem)
{
	CustomBlockType found_type;
	int			dump_id;
	const char *wrong = NULL;
	CustomBlocks *blocks = custom_block_new(archive->fd);

	/*
	 * Check the block, although the table of contents contains its offset: in
	 * a damaged file, the rows of another table might be there.
	 */
	custom_block_seek(blocks, entry->data_offset);
	if (entry->data_state != TOC_DATA_AT_OFFSET)
		wrong = "the archive does not contain the data";
	else if (!custom_block_begin(blocks, &found_type, &dump_id))
		wrong = custom_block_error(blocks) ? custom_block_error(blocks) :
			"the file ends unexpectedly";
	else if (dump_id != entry->dump_id)
		wrong = "the recorded offset leads to data of another entry";
	else if (found_type != type)
		wrong = "the recorded offset leads to data of another kind";
	if (wrong == NULL)
		return blocks;

	*problem = pg_strdup(wrong);
	custom_block_free(blocks);
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
	const char *wrong = "the archive does not contain the data";

	if (has_file)
		member->reader = archive_read_open(archive, entry->filename,
										   archive->toc->method, &wrong);
	if (member->reader == NULL)
		*problem = pg_strdup(wrong);
	return member->reader != NULL;
}

ArchiveMember *
archive_member_open(const Archive *archive, const TocEntry *entry,
					char **problem)
{
	ArchiveMember *member = pg_malloc0(sizeof(ArchiveMember));

	if (archive->kind == ARCHIVE_CUSTOM ?
		open_block(member, archive, entry, problem) :
		open_file(member, archive, entry, problem))
		return member;
	archive_member_close(member);
	return NULL;
}

/* ----------
 * Reading a member
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

/* Copy bytes that were read ahead, and free the buffer after the last one. */
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
 * Rows end with a mark, for psql.  It is not sent to the server, but it must
 * exist: rows without it are not complete.
 * ----------
 */

/* The last bytes are kept, because they may be the mark. */
typedef struct RowsText
{
	char		buffer[MARK_BYTES + READ_BYTES];
	size_t		held;			/* bytes at the start of the buffer that were
								 * kept */
	bool		at_line;		/* the bytes before them end with a newline */
} RowsText;

/*
 * len bytes were added after the kept ones.  Pass on all bytes that cannot be
 * part of the mark.
 */
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

char *
archive_member_send_rows(ArchiveMember *member, Sink *sink, char *const *stop)
{
	RowsText   *text = pg_malloc0(sizeof(RowsText));
	char	   *problem = NULL;
	ssize_t		len;

	/* the mark may be the first line */
	text->at_line = true;
	while ((len = archive_member_read(member, text->buffer + text->held,
									  READ_BYTES)) > 0 && *stop == NULL)
		pass_on(text, len, sink);
	if (len < 0)
		problem = archive_member_error(member);
	else if (*stop == NULL &&
			 (text->held != MARK_BYTES || !text->at_line ||
			  memcmp(text->buffer, ARCHIVE_END_OF_ROWS, MARK_BYTES) != 0))
		problem = pg_strdup("the line that ends the rows is missing");
	free(text);
	return problem;
}

char *
archive_member_error(const ArchiveMember *member)
{
	return pg_strdup(data_reader_error(member->reader));
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
	free(member);
}

/* ----------
 * Reads the large objects of an entry.
 * ----------
 */

/* No line of a list of large objects is longer. */
#define LIST_LINE_BYTES 512

#define NOT_A_LIST "the list of large objects is invalid"

struct ArchiveObjects
{
	const Archive *archive;
	CustomBlocks *blocks;		/* in the custom format, otherwise NULL */
	DataReader *reader;			/* reader of the current object; in the custom
								 * format, of all objects */
	uint64		position;		/* position of the current object in the file
								 * or list */
	DataReader *list;			/* the list, in a directory */
	uint64		list_taken;		/* bytes of the list that were used */
	char		line[LIST_LINE_BYTES];	/* bytes of the list that were not
										 * used yet */
	size_t		line_len;
	char		name[LIST_LINE_BYTES];	/* file of the current object, until
										 * it is opened */
	const Oid  *oids;			/* remaining ones, if the list is not read */
	int			n_oids;
	bool		is_read_twice;	/* the command of the current object was run
								 * again, because it had returned no data */
	char	   *error;
};

static void
archive_member_fail(ArchiveObjects *objects, const char *problem)
{
	if (objects->error == NULL)
		objects->error = pg_strdup(problem);
}

char *
archive_objects_unread(const TocEntry *entry)
{
	return psprintf("could not read large objects of entry %d", entry->dump_id);
}

/* ----------
 * Directory archives
 * ----------
 */

/*
 * Up to format 1.15, the entry may contain a wrong name of the list, and
 * there is only one list (pg_backup_directory.c:_LoadLOs).
 */
static const char *
list_name(const Archive *archive, const TocEntry *entry)
{
	return archive->toc->minor < 16 ?
		archive_name_object_list(archive->toc->minor, entry->dump_id) :
		entry->filename ? entry->filename : "";
}

static void
open_list(ArchiveObjects *objects, const Archive *archive,
		  const TocEntry *entry)
{
	const char *name = list_name(archive, entry);
	const char *problem;

	objects->list = archive_read_open(archive, name, COMPRESS_NONE, &problem);
	if (objects->list)
		data_reader_limit(objects->list, ARCHIVE_READ_MOST_BYTES);
	else
		archive_member_fail(objects, problem);
}

/*
 * Get the next line of the list, with its newline.  Returns NULL after the
 * last one or after an error.
 */
static char *
next_line(ArchiveObjects *objects, char *line)
{
	char	   *end;

	while ((end = memchr(objects->line, '\n', objects->line_len)) == NULL)
	{
		size_t		room = sizeof(objects->line) - objects->line_len;
		ssize_t		len = room == 0 ? 0 :
			data_reader_read(objects->list, objects->line + objects->line_len,
							 room);

		if (len < 0)
			archive_member_fail(objects, data_reader_error(objects->list));
		else if (len == 0 && objects->line_len > 0)
			archive_member_fail(objects, NOT_A_LIST);
		if (len <= 0)
			return NULL;
		objects->line_len += len;
	}
	end++;
	memcpy(line, objects->line, end - objects->line);
	line[end - objects->line] = '\0';
	/* the position of an object is the offset of its line in the list */
	objects->position = objects->list_taken;
	objects->list_taken += end - objects->line;
	objects->line_len -= end - objects->line;
	memmove(objects->line, end, objects->line_len);
	return line;
}

static void
close_object(ArchiveObjects *objects)
{
	if (objects->reader)
		data_reader_free(objects->reader);
	objects->reader = NULL;
}

/* Set the name that pg_dump gives the file of an object, without a suffix. */
static void
name_object(ArchiveObjects *objects, Oid oid)
{
	char	   *name = archive_name_large_object(oid, COMPRESS_NONE);

	strlcpy(objects->name, name, sizeof(objects->name));
	objects->is_read_twice = false;
	free(name);
}

static bool
next_of_oids(ArchiveObjects *objects, Oid *oid)
{
	close_object(objects);
	if (objects->n_oids == 0)
		return false;
	*oid = *objects->oids++;
	objects->n_oids--;
	name_object(objects, *oid);
	return true;
}

static bool
next_of_list(ArchiveObjects *objects, Oid *oid)
{
	char		buffer[LIST_LINE_BYTES + 1];
	char	   *line = next_line(objects, buffer);
	char	   *name;

	close_object(objects);
	if (line == NULL)
		return false;
	name = archive_name_of_list_line(line);
	*oid = (Oid) strtoul(line, NULL, 10);
	if (name == NULL || *oid == InvalidOid)
	{
		archive_member_fail(objects, NOT_A_LIST);
		return false;
	}
	strlcpy(objects->name, name, sizeof(objects->name));
	if (objects->archive->commands == NULL)
		return true;
	/* workers do not read the list, and derive the names from the OIDs */
	name_object(objects, *oid);
	if (strcmp(objects->name, name) == 0)
		return true;
	archive_member_fail(objects, NOT_A_LIST);
	return false;
}

/*
 * Open the file of the current object.  This is done only when the object is
 * read, so files of skipped objects may be missing.
 */
static bool
open_object(ArchiveObjects *objects)
{
	const Archive *archive = objects->archive;
	const char *problem;

	objects->reader = archive_read_open(archive, objects->name,
										archive->toc->method, &problem);
	if (objects->reader == NULL)
		archive_member_fail(objects, problem);
	return objects->reader != NULL;
}

/* ----------
 * Custom archives
 * ----------
 */
static bool
next_of_block(ArchiveObjects *objects, Oid *oid)
{
	if (custom_block_skip_stream(objects->blocks))
	{
		objects->position = custom_block_position(objects->blocks);
		if (custom_block_object(objects->blocks, oid))
		{
			/* each object is a separate compressed stream */
			data_reader_restart(objects->reader);
			return true;
		}
	}
	if (custom_block_error(objects->blocks))
		archive_member_fail(objects, custom_block_error(objects->blocks));
	return false;
}

/* ----------
 * Both formats
 * ----------
 */
static ArchiveObjects *
new_objects(const Archive *archive, const TocEntry *entry)
{
	ArchiveObjects *objects = pg_malloc0(sizeof(ArchiveObjects));

	objects->archive = archive;
	return objects;
}

ArchiveObjects *
archive_objects_open(const Archive *archive, const TocEntry *entry,
					 char **problem)
{
	ArchiveObjects *objects = new_objects(archive, entry);

	if (archive->kind == ARCHIVE_CUSTOM)
	{
		objects->blocks = archive_member_block(archive, entry,
											   CUSTOM_BLOCK_OBJECTS,
											   &objects->error);
		if (objects->blocks)
			objects->reader = data_reader_new_custom(objects->blocks,
													 archive->toc->method);
	}
	else
		open_list(objects, archive, entry);
	if (objects->error == NULL)
		return objects;
	*problem = pg_strdup(objects->error);
	archive_objects_close(objects);
	return NULL;
}

/* Go to the object at this position, right after opening. */
static void
seek_objects(ArchiveObjects *objects, uint64 position)
{
	char		buffer[LIST_LINE_BYTES + 1];

	if (objects->blocks)
		custom_block_seek(objects->blocks, position);
	else
		/* a list is short, and may be compressed, so read it up to there */
		while (objects->list_taken < position && next_line(objects, buffer))
			;
}

ArchiveObjects *
archive_objects_open_some(const Archive *archive, const TocEntry *entry,
						  uint64 position, const Oid *oids, int n_oids,
						  char **problem)
{
	ArchiveObjects *objects;

	if (archive->commands)
	{
		objects = new_objects(archive, entry);
		objects->oids = oids;
		objects->n_oids = n_oids;
		return objects;
	}
	objects = archive_objects_open(archive, entry, problem);
	if (objects)
		seek_objects(objects, position);
	return objects;
}

bool
archive_objects_next(ArchiveObjects *objects, Oid *oid)
{
	if (objects->error)
		return false;
	return objects->blocks ? next_of_block(objects, oid) :
		objects->oids ? next_of_oids(objects, oid) :
		next_of_list(objects, oid);
}

uint64
archive_objects_position(const ArchiveObjects *objects)
{
	return objects->position;
}

ssize_t
archive_objects_read(ArchiveObjects *objects, void *buf, size_t size)
{
	ssize_t		len;

	if (objects->error ||
		(objects->reader == NULL && !open_object(objects)))
		return -1;
	len = data_reader_read(objects->reader, buf, size);
	if (len < 0)
		archive_member_fail(objects, data_reader_error(objects->reader));
	if (len != 0 || objects->is_read_twice ||
		!archive_objects_has_no_data(objects))
		return len;
	/* no pause: the file of an empty object may be empty */
	objects->is_read_twice = true;
	close_object(objects);
	return archive_objects_read(objects, buf, size);
}

bool
archive_objects_has_no_data(const ArchiveObjects *objects)
{
	const Archive *archive = objects->archive;

	return archive->commands && archive->manifest == NULL &&
		objects->error == NULL && objects->reader &&
		data_reader_stored_bytes(objects->reader) == 0;
}

char *
archive_objects_error(const ArchiveObjects *objects)
{
	return objects->error ? pg_strdup(objects->error) : NULL;
}

bool
archive_objects_is_unread(const ArchiveObjects *objects)
{
	return objects->archive->commands && objects->error && objects->reader;
}

void
archive_objects_reopen(ArchiveObjects *objects)
{
	close_object(objects);
	free(objects->error);
	objects->error = NULL;
}

static int
compare_oids(const void *a, const void *b)
{
	Oid			left = *(const Oid *) a;
	Oid			right = *(const Oid *) b;

	return left < right ? -1 : left > right;
}

/* Are these the same OIDs, in any order? */
static bool
same_oids(const Oid *oids, Oid *others, int n)
{
	Oid		   *sorted = pg_malloc(n * sizeof(Oid));
	bool		same;

	memcpy(sorted, oids, n * sizeof(Oid));
	qsort(sorted, n, sizeof(Oid), compare_oids);
	qsort(others, n, sizeof(Oid), compare_oids);
	same = memcmp(sorted, others, n * sizeof(Oid)) == 0;
	free(sorted);
	return same;
}

char *
archive_objects_check_list(const Archive *archive, const TocEntry **by_id,
						   const TocEntry *entry, const Oid *oids, int n)
{
	const char *name = list_name(archive, entry);
	char	   *problem = NULL;
	Oid		   *wanted;
	int			n_wanted;

	if (n == 0)
		return psprintf("command for file \"%s\" returned no large objects",
						name);
	n_wanted = toc_large_objects(archive->toc, by_id, entry, &wanted);
	if (n_wanted > 0 && n != n_wanted)
		problem = psprintf(ngettext("command for file \"%s\" returned %d large object instead of %d",
									"command for file \"%s\" returned %d large objects instead of %d",
									n), name, n, n_wanted);
	else if (n_wanted > 0 && !same_oids(oids, wanted, n))
		problem = psprintf("command for file \"%s\" returned other large objects than \"%s\" lists",
						   name, TOC_NAME);
	free(wanted);
	return problem;
}

void
archive_objects_close(ArchiveObjects *objects)
{
	if (objects->reader)
		data_reader_free(objects->reader);
	if (objects->list)
		data_reader_free(objects->list);
	if (objects->blocks)
		custom_block_free(objects->blocks);
	free(objects->error);
	free(objects);
}
