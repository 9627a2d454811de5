/*
 * tablespace_map.c
 *		The file tablespace_map of a backup in tar format.
 *
 * Within a line a backslash stands before a backslash and the ends of lines
 * (src/backend/access/transam/xlog.c, do_pg_backup_start()).
 */
#include "base/fe_compat.h"

#include "base/buffer.h"
#include "basebackup/tablespace_map.h"

static void
add_tablespace(TablespaceMap *map, const char *path, const char *line)
{
	MappedTablespace *tablespace;
	char	   *end;

	tablespace = array_add(map->tablespaces, map->n_tablespaces);
	tablespace->oid = strtoul(line, &end, 10);
	if (end == line || *end != ' ' || end[1] != '/')
		pg_fatal("file \"%s\" is damaged: %s", path,
				 "a line does not consist of an OID and a path");
	tablespace->location = pg_strdup(end + 1);
}

/*
 * Read the file, keeping its text as it was: the manifest has a checksum of
 * that.  No file means that there are no tablespaces.
 */
TablespaceMap *
tablespace_map_read(const char *path)
{
	TablespaceMap *map = pg_malloc0(sizeof(TablespaceMap));
	FILE	   *file = fopen(path, "r");
	PQExpBuffer line;
	int			c;

	map->text = createPQExpBuffer();
	if (file == NULL && errno == ENOENT)
		return map;
	if (file == NULL)
		pg_fatal("could not open file \"%s\": %m", path);
	line = createPQExpBuffer();
	while ((c = getc(file)) != EOF)
	{
		appendPQExpBufferChar(map->text, (char) c);
		if (c == '\n')
		{
			add_tablespace(map, path, line->data);
			resetPQExpBuffer(line);
			continue;
		}
		if (c == '\\')
		{
			c = getc(file);
			if (c == EOF)
				pg_fatal("file \"%s\" is damaged: %s", path,
						 "it ends within a line");
			appendPQExpBufferChar(map->text, (char) c);
		}
		appendPQExpBufferChar(line, (char) c);
	}
	if (ferror(file))
		pg_fatal("could not read file \"%s\": %m", path);
	if (line->len > 0)
		pg_fatal("file \"%s\" is damaged: %s", path,
				 "it ends within a line");
	(void) buffer_text(line);
	(void) buffer_text(map->text);
	fclose(file);
	return map;
}

void
tablespace_map_append(PQExpBuffer text, Oid oid, const char *location)
{
	appendPQExpBuffer(text, "%u ", oid);
	for (const char *c = location; *c; c++)
	{
		if (strchr("\\\n\r", *c))
			appendPQExpBufferChar(text, '\\');
		appendPQExpBufferChar(text, *c);
	}
	appendPQExpBufferChar(text, '\n');
	(void) buffer_text(text);
}

void
tablespace_map_write(TablespaceMap *map, const char *path)
{
	FILE	   *file = fopen(path, "w");

	if (file == NULL)
		pg_fatal("could not create file \"%s\": %m", path);
	/* a map that was not read has no text yet */
	if (map->text == NULL)
		map->text = createPQExpBuffer();
	resetPQExpBuffer(map->text);
	for (int i = 0; i < map->n_tablespaces; i++)
		tablespace_map_append(map->text, map->tablespaces[i].oid,
							  map->tablespaces[i].location);
	if (fwrite(map->text->data, 1, map->text->len, file) != map->text->len ||
		fclose(file) != 0)
		pg_fatal("could not write file \"%s\": %m", path);
}
