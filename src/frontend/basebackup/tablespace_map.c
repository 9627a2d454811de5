/*
 * tablespace_map.c
 *		Reads and writes tablespace_map, the file of a backup in tar format
 *		that contains the locations of tablespaces.
 *
 * In a line, a backslash precedes each backslash and each newline or carriage
 * return of a location (src/backend/access/transam/xlog.c,
 * do_pg_backup_start()).
 */
#include "base/fe_compat.h"

#include "base/buffer.h"
#include "basebackup/backup_manifest.h"
#include "basebackup/tablespace_map.h"

/* The map has one line for each tablespace before the damaged one. */
pg_noreturn static void
damaged(const TablespaceMap *map, const char *path, bool is_cut)
{
	pg_log_error("file \"%s\" is damaged", path);
	pg_log_error_detail(is_cut ? "Line %d is truncated." :
						"Line %d does not consist of an OID and an absolute path.",
						map->n_tablespaces + 1);
	pg_fatal_hint(BACKUP_COPY_HINT);
}

static void
add_tablespace(TablespaceMap *map, const char *path, const char *line)
{
	MappedTablespace *tablespace;
	char	   *end;
	Oid			oid = strtoul(line, &end, 10);

	if (end == line || *end != ' ' || end[1] != '/')
		damaged(map, path, false);
	tablespace = array_add(map->tablespaces, map->n_tablespaces);
	tablespace->oid = oid;
	tablespace->location = pg_strdup(end + 1);
}

/*
 * Read the file, and keep its text for the comparison with the manifest's
 * checksum.  If there is no file there are no tablespaces.
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
				damaged(map, path, true);
			appendPQExpBufferChar(map->text, (char) c);
		}
		appendPQExpBufferChar(line, (char) c);
	}
	if (ferror(file))
		pg_fatal("could not read file \"%s\": %m", path);
	if (line->len > 0)
		damaged(map, path, true);
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
	/* A map without a file has no text yet. */
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
