/*
 * tablespace_mapping.c
 *		-T OLDDIR=NEWDIR: where the tablespaces of a base backup go.
 */
#include "base/fe_compat.h"

#include <unistd.h>

#include "base/message.h"
#include "options/tablespace_mapping.h"

typedef struct Mapping
{
	char	   *old_directory;
	char	   *new_directory;
} Mapping;

/* As pg_basebackup.c:tablespace_list_append(): "\=" is a "=" of a name. */
static Mapping
read_mapping(const char *text)
{
	char	   *old_directory = pg_malloc0(strlen(text) + 1);
	char	   *new_directory = pg_malloc0(strlen(text) + 1);
	char	   *out = old_directory;
	bool		in_new = false;

	for (const char *pos = text; *pos; pos++)
	{
		if (pos[0] == '\\' && pos[1] == '=')
			*out++ = *++pos;
		else if (*pos != '=')
			*out++ = *pos;
		else if (in_new)
			pg_fatal("multiple \"=\" signs in tablespace mapping");
		else
		{
			in_new = true;
			out = new_directory;
		}
	}
	if (*old_directory == '\0' || *new_directory == '\0')
		pg_fatal("invalid tablespace mapping format \"%s\", must be \"OLDDIR=NEWDIR\"",
				 text);
	if (!is_absolute_path(old_directory))
		pg_fatal("old directory is not an absolute path in tablespace mapping: %s",
				 old_directory);
	if (!is_absolute_path(new_directory))
		pg_fatal("new directory is not an absolute path in tablespace mapping: %s",
				 new_directory);
	canonicalize_path(old_directory);
	canonicalize_path(new_directory);
	return (Mapping)
	{
		old_directory, new_directory
	};
}

void
tablespace_mapping_check(const SimpleStringList *mappings)
{
	for (const SimpleStringListCell *cell = mappings->head; cell; cell = cell->next)
	{
		Mapping		mapping = read_mapping(cell->val);

		free(mapping.old_directory);
		free(mapping.new_directory);
	}
}

static const char *
find(const SimpleStringList *mappings, const char *location)
{
	char	   *canonical = pg_strdup(location);
	const char *result = location;

	canonicalize_path(canonical);
	for (const SimpleStringListCell *cell = mappings->head; cell; cell = cell->next)
	{
		Mapping		mapping = read_mapping(cell->val);

		if (result == location && strcmp(mapping.old_directory, canonical) == 0)
			result = mapping.new_directory;
		else
			free(mapping.new_directory);
		free(mapping.old_directory);
	}
	free(canonical);
	return result;
}

const char *
tablespace_mapping_place(const SimpleStringList *mappings, const char *oid,
						 const char *location)
{
	const char *place = find(mappings, location);

	if (place != location || geteuid() != 0)
		return place;
	pg_log_error("root must name the directory of tablespace %s with -T", oid);
	pg_log_error_detail("Its location on the server is \"%s\".",
						printable(location));
	pg_log_error_hint("To use the same directory: -T %s=%s.  The user who will own the cluster does not need -T.",
					  printable(location), printable(location));
	exit(1);
}
