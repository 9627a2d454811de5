/*
 * extract.c
 *		Makes a data directory of a base backup in tar format.
 *
 * A server must not be started in a directory that is not complete.  So the
 * file that it cannot start without gets its name only when all else is there
 * (name_last_file()), and the manifest, by which pg_verifybackup and users
 * know a complete backup, gets its name after all has been flushed.
 */
#include "base/fe_compat.h"

#include <dirent.h>

#include "common/file_perm.h"
#include "common/file_utils.h"

#include "archive/archive_clean.h"
#include "base/buffer.h"
#include "basebackup/backup_manifest.h"
#include "basebackup/safe_directory.h"
#include "basebackup/tablespace_map.h"
#include "extract/extract.h"
#include "extract/extract_archive.h"
#include "options/backup_options.h"
#include "process/progress.h"
#include "stream/regular_file.h"
#include "stream/sink.h"

#define MANIFEST_TEMP "backup_manifest.tmp"

/* ----------
 * The tar files of the backup
 * ----------
 */

/*
 * The archive of that name, with any suffix; NULL if there is none.  Owned.
 * How it is compressed is taken from the suffix alone, as pg_basebackup names
 * its files.
 */
static char *
find_archive(const Options *options, const char *name, CompressMethod *method)
{
	for (*method = COMPRESS_NONE; *method < N_COMPRESS_METHODS; ++*method)
	{
		char	   *path = psprintf("%s/%s.tar%s", options->extract, name,
									compress_method_suffix(*method));

		if (access(path, F_OK) == 0)
			return path;
	}
	return NULL;
}

/* How large all archives are. */
static uint64
stored_bytes(const Options *options)
{
	DIR		   *d = opendir(options->extract);
	struct dirent *entry;
	struct stat st;
	uint64		bytes = 0;

	/* an error is found and reported when the archives are opened */
	while (d && (entry = readdir(d)) != NULL)
		if (strstr(entry->d_name, ".tar") != NULL &&
			fstatat(dirfd(d), entry->d_name, &st, 0) == 0)
			bytes += st.st_size;
	if (d)
		closedir(d);
	return bytes;
}

/* All tablespaces' archives must be of the map, which has others besides. */
static void
check_archives(const Options *options, const TablespaceMap *map)
{
	DIR		   *d = opendir(options->extract);
	struct dirent *entry;

	if (d == NULL)
		pg_fatal("could not open directory \"%s\": %m", options->extract);
	while (errno = 0, (entry = readdir(d)) != NULL)
	{
		char	   *end;
		Oid			oid = strtoul(entry->d_name, &end, 10);
		int			i = 0;

		/* base.tar, pg_wal.tar and backup_manifest begin with no digit */
		if (end == entry->d_name || strncmp(end, ".tar", 4) != 0)
			continue;
		while (i < map->n_tablespaces && map->tablespaces[i].oid != oid)
			i++;
		if (i == map->n_tablespaces)
		{
			pg_log_error("file \"%s/%s\" does not belong to this backup",
						 options->extract, printable(entry->d_name));
			pg_log_error_detail("The file tablespace_map in base.tar does not list tablespace %u.",
								oid);
			pg_fatal_hint("If the file is from another backup, remove it.  Otherwise, use another copy of the backup.");
		}
	}
	if (errno != 0)
		pg_fatal("could not read directory \"%s\": %m", options->extract);
	closedir(d);
}

/* ----------
 * Tablespaces
 * ----------
 */

pg_noreturn static void
missing_archive(const Options *options, const char *name)
{
	pg_log_error("archive of tablespace %s is missing in directory \"%s\"",
				 name, options->extract);
	pg_log_error_detail("Its name is %s.tar, with or without .gz, .lz4 or .zst.",
						name);
	pg_fatal_hint(BACKUP_COPY_HINT);
}

/* Returns whether it goes elsewhere than where it was. */
static bool
claim_tablespace(const Options *options, MappedTablespace *tablespace)
{
	char	   *name = psprintf("%u", tablespace->oid);
	const char *location = tablespace_mapping_place(&options->tablespace_mappings,
													name, tablespace->location);
	bool		elsewhere = strcmp(location, tablespace->location) != 0;
	CompressMethod method;
	char	   *archive = find_archive(options, name, &method);

	if (archive == NULL)
		missing_archive(options, name);
	(void) claimed_directory_new(location, elsewhere ? NULL :
								 "This is the tablespace's location on the server.  Use -T to specify another one.",
								 options->no_clean, true);
	tablespace->location = pg_strdup(location);
	return elsewhere;
}

/*
 * Returns the map, with the locations that tablespaces have now.  *was is the
 * map in the backup, if the program has written another one; owned.
 */
static TablespaceMap *
claim_tablespaces(const Options *options,
				  Attributes *attributes, int n_links, PQExpBuffer *was)
{
	char	   *path = psprintf("%s/tablespace_map", options->directory);
	TablespaceMap *map = tablespace_map_read(path);
	bool		any_elsewhere = false;

	if (n_links != 0 && n_links != map->n_tablespaces)
	{
		pg_log_error("the backup in directory \"%s\" is damaged",
					 options->extract);
		pg_log_error_detail("base.tar contains links of %d tablespaces, but its file tablespace_map lists %d.",
							n_links, map->n_tablespaces);
		pg_fatal_hint(BACKUP_COPY_HINT);
	}
	check_archives(options, map);
	for (int i = 0; i < map->n_tablespaces; i++)
		any_elsewhere |= claim_tablespace(options, &map->tablespaces[i]);
	/* the server makes its links from the map */
	*was = NULL;
	if (any_elsewhere)
	{
		*was = createPQExpBuffer();
		appendBinaryPQExpBuffer(*was, map->text->data, map->text->len);
		(void) buffer_text(*was);
		tablespace_map_write(map, path);
		attributes_adopt(attributes, path);
	}
	return map;
}

static void
extract_tablespace(const Options *options, Attributes *attributes,
				   const MappedTablespace *tablespace)
{
	char	   *name = psprintf("%u", tablespace->oid);
	CompressMethod method;
	char	   *archive = find_archive(options, name, &method);
	char	   *link = psprintf("%s/pg_tblspc/%s", options->directory, name);

	if (archive == NULL)
		missing_archive(options, name);
	(void) extract_archive(archive, method, tablespace->location,
						   EXTRACT_TABLESPACE_PREFIX, options->jobs,
						   attributes);
	if (symlink(tablespace->location, link) < 0)
		pg_fatal("could not create symbolic link from \"%s\" to \"%s\": %m",
				 link, tablespace->location);
	/* a link that is in the archive gets its own one */
	attributes_adopt(attributes, link);
}

/* ----------
 * The rest
 * ----------
 */
/* Copy what is open as it is.  The descriptor is taken over. */
static void
copy_file(int fd, const char *from, const char *to)
{
	char		buffer[65536];
	ssize_t		got;
	Sink	   *sink = sink_file_new(to);

	while ((got = read(fd, buffer, sizeof(buffer))) > 0)
		sink_write(sink, buffer, got);
	if (got < 0)
		pg_fatal("could not read file \"%s\": %m", from);
	sink_finish(sink);
	sink_free(sink);
	close(fd);
}

/* -1 if there is none; *from is owned. */
static int
open_manifest(const Options *options, char **from)
{
	const char *problem;
	int			fd;

	*from = psprintf("%s/backup_manifest", options->extract);
	fd = regular_file_open(AT_FDCWD, *from, &problem);
	if (fd < 0 && errno != ENOENT)
	{
		pg_log_error("could not read file \"%s\"", *from);
		pg_fatal_detail("The file %s.", problem);
	}
	return fd;
}

/*
 * Under a temporary name: complete() gives it the right one.  A
 * tablespace_map that the program has changed has another checksum than the
 * manifest says, and pg_verifybackup would call the backup damaged.  was is
 * the backup's own map then.
 */
static void
extract_manifest(const Options *options, const Attributes *attributes,
				 const PQExpBufferData *was, const TablespaceMap *map)
{
	char	   *from;
	char	   *to = psprintf("%s/" MANIFEST_TEMP, options->directory);
	int			fd = open_manifest(options, &from);

	if (fd >= 0 && was)
	{
		char	   *path = psprintf("%s/tablespace_map", options->directory);
		struct stat st;
		ManifestChange change = {
			.path = "tablespace_map",
			.old_data = was->data,
			.old_len = was->len,
			.new_data = map->text->data,
			.new_len = map->text->len
		};

		if (stat(path, &st) < 0)
			pg_fatal("could not stat file \"%s\": %m", path);
		change.mtime = st.st_mtime;
		manifest_rewrite(fd, from, to, &change);
	}
	else if (fd >= 0)
		copy_file(fd, from, to);
	if (fd >= 0)
		attributes_adopt(attributes, to);
}

/* The program's major: only those before 10 had other directories. */
static void
extract_flush_directory(const void *arg)
{
	sync_data_directory(arg, PG_VERSION_NUM);
}

/* All of it, and then its manifest's name, which says that it is complete. */
static void
complete(const Options *options)
{
	bool		has_manifest = access(psprintf("%s/" MANIFEST_TEMP,
											   options->directory), F_OK) == 0;

	if (options->sync_method != SYNC_NONE)
	{
		progress_stage_if_long("syncing files to disk");
		archive_sync_apart(extract_flush_directory, options->directory);
		progress_end();
	}
	claimed_directory_check();

	/*
	 * the last step of all, so that a directory with a manifest is complete
	 */
	if (has_manifest)
		claimed_directory_rename(MANIFEST_TEMP, "backup_manifest",
								 options->sync_method != SYNC_NONE);
	if (progress_is_shown())
		extract_archive_print_sum(stderr);
}

void
extract_backup(const Options *options)
{
	Attributes *attributes = attributes_new();
	CompressMethod method;
	char	   *archive = find_archive(options, "base", &method);
	TablespaceMap *map;
	PQExpBuffer was;
	int			n_links;
	char	   *from;
	int			fd;
	char	   *path;
	char	   *temp;

	if (archive == NULL)
	{
		pg_log_error("directory \"%s\" does not contain base.tar",
					 options->extract);
		pg_fatal_hint("Specify the directory of a backup in tar format, which pg_parbasebackup -Ft or pg_basebackup -Ft has made.");
	}
	/* permissions of the group are the archive's, under any umask */
	umask(PG_MODE_MASK_GROUP);
	(void) claimed_directory_new(options->directory, NULL, options->no_clean, true);

	/*
	 * If the manifest may have to be written again: damage is found before
	 * hours are spent.
	 */
	fd = open_manifest(options, &from);
	if (fd >= 0 && options->tablespace_mappings.head)
		manifest_rewrite_check(fd, from);
	else if (fd >= 0)
		close(fd);
	extract_archive_begin_stage(stored_bytes(options));
	n_links = extract_archive(archive, method, options->directory, "",
							  options->jobs, attributes);
	/* pg_basebackup's own archive of what it has streamed */
	archive = find_archive(options, "pg_wal", &method);
	if (archive)
		/* the name is needed until all attributes are set */
		(void) extract_archive(archive, method,
							   psprintf("%s/pg_wal", options->directory), "",
							   options->jobs, attributes);
	/* tablespace_map is a member of base.tar, so only now it can be read */
	map = claim_tablespaces(options, attributes, n_links, &was);
	/* its errors come before the tablespaces, which take long */
	extract_manifest(options, attributes, was, map);
	for (int i = 0; i < map->n_tablespaces; i++)
		extract_tablespace(options, attributes, &map->tablespaces[i]);
	progress_end();
	/* All that it needs is there: a server can be started. */
	path = psprintf("%s/%s", options->directory, EXTRACT_LAST_FILE);
	temp = psprintf("%s%s", path, EXTRACT_LAST_SUFFIX);
	if (rename(temp, path) < 0 && errno != ENOENT)
		pg_fatal("could not rename file \"%s\" to \"%s\": %m", temp, path);

	/*
	 * Whom a directory belongs to can put a link in the place of what is in
	 * it, so root has to be done with all that is before it gives it away.  A
	 * tablespace can be within one before it.
	 */
	for (int i = map->n_tablespaces - 1; i >= 0; i--)
	{
		attributes_set_noted(attributes, map->tablespaces[i].location);
		attributes_adopt(attributes, map->tablespaces[i].location);
	}
	attributes_set_noted(attributes, NULL);
	attributes_adopt(attributes, options->directory);
	complete(options);
}
