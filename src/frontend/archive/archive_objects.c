/*
 * archive_objects.c
 *		Reads the large objects of an entry.
 */
#include "base/fe_compat.h"

#include "archive/archive_lookup.h"
#include "archive/archive_member.h"
#include "archive/archive_name.h"
#include "archive/archive_objects.h"
#include "stream/decompress.h"

/* Longer than any line of a list of large objects. */
#define LIST_LINE_BYTES 512

#define NOT_A_LIST "their list is not one of large objects"

struct ArchiveObjects
{
	int			dir;			/* borrowed */
	int			dump_id;
	CustomBlocks *blocks;		/* of the custom format, else NULL */
	DataReader *reader;			/* of the object that is being read; in the
								 * custom format of all of them */
	uint64		position;		/* of the object in file or list */
	DataReader *list;			/* of a directory: the list */
	uint64		list_taken;		/* bytes of it */
	char		line[LIST_LINE_BYTES];	/* what is read of it and not taken */
	size_t		line_len;
	char		name[LIST_LINE_BYTES];	/* its file, if not open yet */
	char	   *error;
};

static void fail(ArchiveObjects *objects, const char *format,...)
			pg_attribute_printf(2, 3);

static void
fail(ArchiveObjects *objects, const char *format,...)
{
	char		text[1024];
	va_list		args;

	if (objects->error)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	objects->error = psprintf("could not read large objects of entry %d: %s",
							  objects->dump_id, text);
}

/* ----------
 * A directory
 * ----------
 */

/*
 * Up to format 1.15 the entry's name for the list may be wrong, and there is
 * one list only (pg_backup_directory.c:_LoadLOs).
 */
static char *
list_name(const Archive *archive, const TocEntry *entry)
{
	if (archive->toc->minor < 16)
		return archive_name_object_list(archive->toc->minor, entry->dump_id);
	return pg_strdup(entry->filename ? entry->filename : "");
}

static void
open_list(ArchiveObjects *objects, const Archive *archive,
		  const TocEntry *entry)
{
	char	   *name = list_name(archive, entry);
	CompressMethod method;
	const char *problem;
	int			fd = archive_lookup_open(archive->fd, name, &method, &problem);

	if (fd < 0)
		fail(objects, "file \"%s\" %s", name, problem);
	else
		objects->list = data_reader_new_file(fd, method);
	free(name);
}

/* The next line of the list, its end included; NULL after the last. */
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
			fail(objects, "their list: %s", data_reader_error(objects->list));
		else if (len == 0 && objects->line_len > 0)
			fail(objects, NOT_A_LIST);
		if (len <= 0)
			return NULL;
		objects->line_len += len;
	}
	end++;
	memcpy(line, objects->line, end - objects->line);
	line[end - objects->line] = '\0';
	objects->position = objects->list_taken;
	objects->list_taken += end - objects->line;
	objects->line_len -= end - objects->line;
	memmove(objects->line, end, objects->line_len);
	return line;
}

static bool
next_of_list(ArchiveObjects *objects, Oid *oid)
{
	char		buffer[LIST_LINE_BYTES + 1];
	char	   *line = next_line(objects, buffer);
	char	   *name;

	if (objects->reader)
		data_reader_free(objects->reader);
	objects->reader = NULL;
	if (line == NULL)
		return false;
	name = archive_name_of_list_line(line);
	*oid = (Oid) strtoul(line, NULL, 10);
	if (name == NULL || *oid == InvalidOid)
	{
		fail(objects, NOT_A_LIST);
		return false;
	}
	strlcpy(objects->name, name, sizeof(objects->name));
	return true;
}

/* Of an object that is passed over the file is not looked for. */
static bool
open_object(ArchiveObjects *objects)
{
	CompressMethod method;
	const char *problem;
	int			fd = archive_lookup_open(objects->dir, objects->name, &method,
										 &problem);

	if (fd < 0)
		fail(objects, "file \"%s\" %s", objects->name, problem);
	else
		objects->reader = data_reader_new_file(fd, method);
	return fd >= 0;
}

/* A list is short, and may be compressed: read it up to there. */
static void
seek_in_list(ArchiveObjects *objects, uint64 position)
{
	char		buffer[LIST_LINE_BYTES + 1];

	while (objects->list_taken < position && next_line(objects, buffer))
		;
}

/* ----------
 * A custom archive
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
			data_reader_restart(objects->reader);
			return true;
		}
	}
	if (custom_block_error(objects->blocks))
		fail(objects, "%s", custom_block_error(objects->blocks));
	return false;
}

/* ----------
 * Both
 * ----------
 */
ArchiveObjects *
archive_objects_open(const Archive *archive, const TocEntry *entry,
					 char **problem)
{
	ArchiveObjects *objects = pg_malloc0(sizeof(ArchiveObjects));

	objects->dir = archive->fd;
	objects->dump_id = entry->dump_id;
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

bool
archive_objects_next(ArchiveObjects *objects, Oid *oid)
{
	if (objects->error)
		return false;
	return objects->blocks ? next_of_block(objects, oid) :
		next_of_list(objects, oid);
}

uint64
archive_objects_position(const ArchiveObjects *objects)
{
	return objects->position;
}

void
archive_objects_seek(ArchiveObjects *objects, uint64 position)
{
	if (objects->blocks)
		custom_block_seek(objects->blocks, position);
	else
		seek_in_list(objects, position);
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
		fail(objects, "%s", data_reader_error(objects->reader));
	return len;
}

char *
archive_objects_error(const ArchiveObjects *objects)
{
	return objects->error ? pg_strdup(objects->error) : NULL;
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
