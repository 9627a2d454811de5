/*
 * extract.c
 *		Makes a data directory from a base backup in tar format.
 *
 * A server must not be started in a directory that is not complete.  So
 * pg_control, without which no server starts, gets its final name only after
 * all other files exist.  The manifest, which shows users and pg_verifybackup
 * that a backup is complete, gets its name after everything has been flushed.
 */
#include "base/fe_compat.h"

#include "common/file_perm.h"
#include "common/file_utils.h"

#include "archive/archive_clean.h"
#include "base/buffer.h"
#include "basebackup/backup_manifest.h"
#include "basebackup/safe_directory.h"
#include "basebackup/tablespace_map.h"
#include "basebackup/tar_archive.h"
#include "extract/extract.h"
#include "extract/extract_archive.h"
#include "options/options_parse.h"
#include "process/progress.h"
#include "stream/regular_file.h"
#include "stream/sink.h"

#define MANIFEST_TEMP "backup_manifest.tmp"

/* ----------
 * The tar files of the backup
 * ----------
 */

/*
 * The archive with this name and any suffix; NULL if there is none.  Owned.
 * Only the suffix shows how it is compressed, as pg_basebackup names its
 * files.
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

/* Check that the map lists the tablespaces of all archives. */
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

		/*
		 * The names base.tar, pg_wal.tar and backup_manifest do not begin
		 * with a digit.
		 */
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
	pg_log_error("archive of tablespace %s is missing from directory \"%s\"",
				 name, options->extract);
	pg_log_error_detail("The file is named %s.tar, %s.tar.gz, %s.tar.lz4 or %s.tar.zst.",
						name, name, name, name);
	pg_fatal_hint(BACKUP_COPY_HINT);
}

/*
 * Claim a tablespace's directory.  Returns whether it differs from the
 * location in the backup.
 */
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
 * Claim the directories of all tablespaces.  Returns the map with their
 * current locations.  If the program has written a new map, *was is the
 * backup's own map; owned.
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
		pg_log_error_detail(ngettext("base.tar contains links of %d tablespace, but its file tablespace_map lists %d.",
									 "base.tar contains links of %d tablespaces, but its file tablespace_map lists %d.",
									 n_links),
							n_links, map->n_tablespaces);
		pg_fatal_hint(BACKUP_COPY_HINT);
	}
	check_archives(options, map);
	for (int i = 0; i < map->n_tablespaces; i++)
		any_elsewhere |= claim_tablespace(options, &map->tablespaces[i]);

	/*
	 * The server makes its links from the map, so write it again if locations
	 * changed.
	 */
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

	/*
	 * Links in an archive get their owners from there; this one was made
	 * here.
	 */
	attributes_adopt(attributes, link);
}

/* ----------
 * The manifest, and the final steps
 * ----------
 */
/* Copy an open file unchanged.  Closes the descriptor. */
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

/*
 * Open the manifest of the backup; -1 if there is none.  *from is its path,
 * owned.
 */
static int
open_manifest(const Options *options, char **from)
{
	const char *problem;
	int			fd;

	*from = psprintf("%s/backup_manifest", options->extract);
	fd = regular_file_open(AT_FDCWD, *from, &problem);
	if (fd < 0 && errno != ENOENT)
	{
		pg_log_error("%s", problem);
		pg_fatal_hint(BACKUP_COPY_HINT);
	}
	return fd;
}

/*
 * Write the manifest with a temporary name, which complete() replaces.  If
 * the program has changed tablespace_map, the manifest needs its new
 * checksum, because otherwise pg_verifybackup would report the backup as
 * damaged.  "was" is the backup's own map then.
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

/*
 * Flush the directory.  The program's own version is passed, because only
 * versions before 10 had other directories.
 */
static void
extract_flush_directory(const void *arg)
{
	sync_data_directory(arg, PG_VERSION_NUM);
}

static void
print_summary(const Options *options)
{
	PQExpBufferData text = buffer_new();

	extract_archive_append_sum(&text);
	message_before_output();
	fprintf(stderr, "extracted backup \"%s\" into directory \"%s\":\n  %s\n",
			printable(options->extract), printable(options->directory), text.data);
	termPQExpBuffer(&text);
}

/*
 * Flush everything, and then rename the manifest, which marks the directory
 * as complete.
 */
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
	 * This is the last step, so that a directory with a manifest is complete.
	 */
	if (has_manifest)
		claimed_directory_rename(MANIFEST_TEMP, "backup_manifest",
								 options->sync_method != SYNC_NONE);
	if (progress_is_shown())
		print_summary(options);
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
	/* The archive, not the umask, determines the permissions of the group. */
	umask(PG_MODE_MASK_GROUP);
	(void) claimed_directory_new(options->directory, NULL, options->no_clean, true);

	/*
	 * If the manifest may have to be changed, find damage in it now, not
	 * after hours.
	 */
	fd = open_manifest(options, &from);
	if (fd >= 0 && options->tablespace_mappings.head)
		manifest_rewrite_check(fd, from);
	else if (fd >= 0)
		close(fd);
	extract_archive_begin_stage(tar_archive_stored_bytes(options->extract));
	n_links = extract_archive(archive, method, options->directory, "",
							  options->jobs, attributes);

	/*
	 * pg_basebackup stores WAL that it has streamed in an archive of its own.
	 */
	archive = find_archive(options, "pg_wal", &method);
	if (archive)

		/*
		 * The name is never freed, because it is needed until all attributes
		 * are set.
		 */
		(void) extract_archive(archive, method,
							   psprintf("%s/pg_wal", options->directory), "",
							   options->jobs, attributes);
	/* base.tar contains tablespace_map, so it can only be read now. */
	map = claim_tablespaces(options, attributes, n_links, &was);

	/*
	 * Write the manifest before the tablespaces, which take long, so that its
	 * errors are found early.
	 */
	extract_manifest(options, attributes, was, map);
	for (int i = 0; i < map->n_tablespaces; i++)
		extract_tablespace(options, attributes, &map->tablespaces[i]);
	progress_end();
	/* All files exist, so a server may be started from now on. */
	path = psprintf("%s/%s", options->directory, EXTRACT_LAST_FILE);
	temp = psprintf("%s%s", path, EXTRACT_LAST_SUFFIX);
	if (rename(temp, path) < 0 && errno != ENOENT)
		pg_fatal("could not rename file \"%s\" to \"%s\": %m", temp, path);

	/*
	 * The owner of a directory can replace its contents by links.  So root
	 * must finish everything in a directory before the directory gets its
	 * owner.  The order is reversed because a tablespace can be within an
	 * earlier one.
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
