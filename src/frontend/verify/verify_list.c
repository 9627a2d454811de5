/*
 * verify_list.c
 *		Matches the names in a manifest and a table of contents with the files
 *		that exist, for a verification.
 *
 * A name from the archive is only looked up in the list of the directory, so
 * it cannot lead to another directory.  Commands get only names without
 * special characters.
 */
#include "base/fe_compat.h"

#include "archive/archive_member.h"
#include "archive/archive_name.h"
#include "base/buffer.h"
#include "stream/regular_file.h"
#include "verify/verify_list.h"

/* ----------
 * Findings
 * ----------
 */

char *
verify_file_text(const VerifyFile *file, const char *of_table,
				 const char *text)
{
	return file->table ?
		psprintf(of_table, printable(file->name), printable(file->table)) :
		psprintf(text, printable(file->name));
}

void
verify_finding(VerifyCounts *counts, const char *finding, const char *details)
{
	size_t		len = strlen(counts->text);
	PQExpBufferData line = buffer_new();

	pg_log_error("%s", finding);
	appendPQExpBufferStr(&line, finding);
	for (const char *pos = details; pos && *pos;)
	{
		int			n = strcspn(pos, "\n");
		char	   *detail = pnstrdup(pos, n);

		pg_log_error_detail("%s", message_sentence(detail));
		appendPQExpBuffer(&line, "%s%s", pos == details ? ": " : "; ", detail);
		free(detail);
		pos += n + (pos[n] != '\0');
	}
	if (snprintf(counts->text + len, sizeof(counts->text) - len, "%s\n",
				 buffer_text(&line)) >= (int) (sizeof(counts->text) - len))
		counts->text[len] = '\0';
	termPQExpBuffer(&line);
	counts->findings++;
}

int
verify_file_open(const char *directory, const VerifyFile *file,
				 VerifyCounts *counts)
{
	char	   *path = psprintf("%s/%s", directory, file->name);
	const char *problem;
	int			fd = regular_file_open(AT_FDCWD, path, &problem);

	free(path);
	if (fd < 0)
		verify_finding(counts,
					   verify_file_text(file,
										"could not read file \"%s\" of table %s",
										"could not read file \"%s\""),
					   problem);
	return fd;
}

/* ----------
 * The list
 * ----------
 */

/* No line of a list of large objects is longer. */
#define LIST_LINE_BYTES 512

FileList *
verify_list_new(const char *directory)
{
	FileList   *list = pg_malloc0(sizeof(FileList));
	DIR		   *dir = opendir(directory);
	const char *name;

	if (dir == NULL)
		pg_fatal("could not open directory \"%s\": %m", directory);
	list->directory = directory;
	while ((name = directory_next(dir)) != NULL)
	{
		ListedFile	listed = {0};
		struct stat st = {0};

		if (strcmp(name, MANIFEST_NAME) == 0)
			continue;
		(void) fstatat(dirfd(dir), name, &st, AT_SYMLINK_NOFOLLOW);
		listed.file.name = pg_strdup(name);
		listed.file.size = st.st_size;
		*array_add(list->files, list->n_files) = listed;
	}
	if (errno != 0)
		pg_fatal("could not read directory \"%s\": %m", directory);
	closedir(dir);
	if (list->n_files > 0)
		qsort(list->files, list->n_files, sizeof(ListedFile), compare_strings);
	return list;
}

/*
 * Add a name, unless it must not be used in a command: that is reported
 * later, when the name is not found in the list.
 */
static void
add_name(FileList *list, char *name, uint64 size)
{
	ListedFile	listed = {.file.name = name,.file.size = size};

	if (!archive_name_is_harmless(name))
		return;
	list->files = array_room(list->files, list->n_files, sizeof(ListedFile));
	list->files[list->n_files++] = listed;
}

/* Read the number at the beginning of each line of a list; *oids is owned. */
static int
read_oids(const char *text, Oid **oids)
{
	const char *end;
	int			n = 0;

	*oids = NULL;
	for (; (end = strchr(text, '\n')) != NULL; text = end + 1)
		*array_add(*oids, n) = (Oid) strtoul(text, NULL, 10);
	return n;
}

/* Read a list of large objects once.  Returns the error, owned, or NULL. */
static char *
read_list(const FileList *list, const TocEntry *entry, VerifyFile *file)
{
	const Archive *archive = list->archive;
	char	   *problem;
	size_t		len;
	char	   *text = archive_read_all(archive, file->name, &len, &problem);
	Oid		   *oids;
	int			n;

	if (text && archive->manifest == NULL)
	{
		n = read_oids(text, &oids);
		problem = archive_objects_check_list(archive, list->by_id, entry, oids, n);
		free(oids);
	}
	if (problem)
	{
		free(text);
		return problem;
	}
	file->text = text;
	file->size = len;
	return NULL;
}

/*
 * Read the list of an entry from a command, and keep its text, because the
 * command might return another one later.  It is a finding if the list cannot
 * be read.
 */
static void
keep_list(const FileList *list, const TocEntry *entry, ListedFile *listed,
		  VerifyCounts *counts)
{
	Retry		retry = {0};
	char	   *problem;

	while ((problem = read_list(list, entry, &listed->file)) != NULL)
		if (!archive_read_again(list->archive, &retry, problem))
		{
			verify_finding(counts, problem, NULL);
			counts->unread += command_reader_last_failed();
			listed->unusable = true;
			return;
		}
}

/* Returns the text of a list as a stream. */
static FILE *
open_text(const VerifyFile *file)
{
	/* fmemopen() does not accept an empty text */
	FILE	   *stream = file->size > 0 ?
		fmemopen(unconstify(char *, file->text), file->size, "r") :
		fopen(DEVNULL, "r");

	if (stream == NULL)
		pg_fatal("%s() failed: %m", "fmemopen");
	return stream;
}

/* Add the list of an entry, and the names in it. */
static void
add_list(FileList *list, const TocEntry *entry, VerifyCounts *counts)
{
	int			no = list->n_files;
	char		line[LIST_LINE_BYTES];
	FILE	   *stream;

	add_name(list, pg_strdup(entry->filename), 0);
	keep_list(list, entry, &list->files[no], counts);
	if (list->files[no].unusable)
		return;
	stream = open_text(&list->files[no].file);
	while (fgets(line, sizeof(line), stream))
	{
		char	   *name = archive_name_of_list_line(line);

		if (name)
			add_name(list, archive_name_compressed(name, list->archive->toc->method), 0);
	}
	fclose(stream);
}

FileList *
verify_list_piped(const Archive *archive, VerifyCounts *counts)
{
	FileList   *list = pg_malloc0(sizeof(FileList));
	int			n = 0;

	list->directory = archive->path;
	list->archive = archive;
	list->by_id = toc_entries_by_id(archive->toc);
	for (int i = 0; archive->manifest && i < archive->manifest->n_files; i++)
		add_name(list, archive->manifest->files[i].path,
				 archive->manifest->files[i].stored_bytes);
	for (int i = 0; archive->manifest == NULL && i < archive->toc->n_entries; i++)
	{
		const TocEntry *entry = &archive->toc->entries[i];
		const char *name = entry->filename;

		if (!entry->had_dumper || name == NULL ||
			!archive_name_is_harmless(name))
			continue;
		if (toc_entry_is(entry, "BLOBS"))
			add_list(list, entry, counts);
		else
			add_name(list, archive_name_compressed(name, archive->toc->method), 0);
	}
	if (list->n_files > 0)
		qsort(list->files, list->n_files, sizeof(ListedFile), compare_strings);
	/* remove duplicates, which are reported when names are marked */
	for (int i = 0; i < list->n_files; i++)
		if (i == 0 || strcmp(list->files[i].file.name, list->files[n - 1].file.name) != 0)
			list->files[n++] = list->files[i];
	list->n_files = n;
	return list;
}

static ListedFile *
find(const FileList *list, const char *name)
{
	if (list->n_files == 0)
		return NULL;
	return bsearch(&name, list->files, list->n_files, sizeof(ListedFile),
				   compare_strings);
}

/*
 * Report that the list does not contain this file.  Commands cannot show
 * which files exist.
 */
static void
report_missing(const FileList *list, const VerifyFile *file,
			   VerifyCounts *counts)
{
	verify_finding(counts, list->archive == NULL ?
				   verify_file_text(file, "file \"%s\" of table %s is missing",
									"file \"%s\" is missing") :
				   archive_name_is_harmless(file->name) ?
				   verify_file_text(file, VERIFY_NOT_IN_MANIFEST) :
				   psprintf(ARCHIVE_NAME_INVALID, printable(file->name)), NULL);
}

/* Returns the name of the table, which is never freed, like the list. */
static const char *
table_of(const ManifestFile *file)
{
	if (file->kind != MANIFEST_ROWS)
		return NULL;
	return manifest_name_table(file->schema, file->table);
}

void
verify_list_mark_manifest(FileList *list, const Manifest *manifest,
						  VerifyCounts *counts)
{
	FileList	there = *list;	/* stays sorted while missing files are added
								 * to the list */

	there.files = list->files =
		pg_realloc(list->files, (list->n_files + manifest->n_files + 1) *
				   sizeof(ListedFile));
	for (int i = 0; i < manifest->n_files; i++)
	{
		const ManifestFile *want = &manifest->files[i];
		ListedFile *listed = find(&there, want->path);

		if (listed == NULL)
		{
			listed = &list->files[list->n_files++];
			memset(listed, 0, sizeof(ListedFile));
			listed->file.name = want->path;
			listed->file.table = table_of(want);
			listed->unusable = true;
			report_missing(list, &listed->file, counts);
		}
		else if (listed->in_manifest)
			verify_finding(counts,
						   verify_file_text(&listed->file,
											"file \"%s\" of table %s is listed twice in the manifest",
											"file \"%s\" is listed twice in the manifest"),
						   NULL);
		else
		{
			listed->in_manifest = true;
			listed->file.kind = want->kind;
			listed->file.table = table_of(want);
			listed->file.has_copy_rows = want->kind == MANIFEST_ROWS;
			listed->file.want = want;
		}
	}
	if (list->n_files > 0)
		qsort(list->files, list->n_files, sizeof(ListedFile), compare_strings);
}

int
verify_list_open(FileList *list, const char *name, VerifyCounts *counts)
{
	ListedFile *listed = find(list, name);
	VerifyFile	named = {.name = name};
	int			fd;

	if (listed == NULL)
		report_missing(list, &named, counts);
	if (listed == NULL || listed->unusable)
		return -1;
	fd = verify_file_open(list->directory, &listed->file, counts);
	listed->unusable = fd < 0;
	return fd;
}

void
verify_list_damaged(FileList *list, const char *name, VerifyCounts *counts,
					const char *finding, const char *details)
{
	ListedFile *listed = find(list, name);

	verify_finding(counts, finding, details);
	if (listed)
		listed->unusable = true;
}

/*
 * Find a data file with any suffix, in the order in which pg_restore tries
 * them.
 */
static ListedFile *
find_data_file(const FileList *list, const char *name)
{
	for (int i = COMPRESS_NONE; i < N_COMPRESS_METHODS; i++)
	{
		char	   *path = archive_name_compressed(name, (CompressMethod) i);
		ListedFile *found = find(list, path);

		free(path);
		if (found)
			return found;
	}
	return NULL;
}

/*
 * Mark a file that the table of contents, or a list that it names, describes
 * in this way.  Returns false if the file cannot be used, which is a finding.
 * The name of the table is borrowed.
 */
static bool
mark(const FileList *list, ListedFile *listed, const VerifyFile *named,
	 VerifyCounts *counts)
{
	if (strchr(named->name, '/') && list->archive == NULL)
		verify_finding(counts, psprintf(ARCHIVE_NAME_INVALID,
										printable(named->name)), NULL);
	else if (listed == NULL)
		report_missing(list, named, counts);
	else if (listed->unusable)
		return false;
	else if (listed->in_toc)
		verify_finding(counts,
					   verify_file_text(named,
										"file \"%s\" of table %s is listed twice in " TOC_NAME,
										"file \"%s\" is listed twice in " TOC_NAME),
					   NULL);
	else if (listed->in_manifest && listed->file.kind != named->kind)
		verify_finding(counts,
					   verify_file_text(named,
										"file \"%s\" of table %s is listed as different kinds in the manifest and in " TOC_NAME,
										"file \"%s\" is listed as different kinds in the manifest and in " TOC_NAME),
					   NULL);
	else
	{
		listed->in_toc = true;
		listed->file.kind = named->kind;
		if (listed->file.table == NULL)
			listed->file.table = named->table;
		listed->file.has_copy_rows = named->has_copy_rows;
		return true;
	}
	return false;
}

static FILE *
open_list(FileList *list, const TocEntry *entry, VerifyCounts *counts)
{
	ListedFile *listed;
	int			fd;

	if (list->archive == NULL)
	{
		fd = verify_list_open(list, entry->filename, counts);
		return fd >= 0 ? fdopen(fd, "r") : NULL;
	}
	listed = find(list, entry->filename);
	if (listed->file.text == NULL)
		keep_list(list, entry, listed, counts);
	return listed->unusable ? NULL : open_text(&listed->file);
}

/*
 * Mark the files of the large objects in the list of an entry.  Returns false
 * if the list cannot be read.
 */
static bool
mark_large_objects(FileList *list, const TocEntry *entry, VerifyCounts *counts)
{
	FILE	   *stream = open_list(list, entry, counts);
	VerifyFile	object = {.kind = MANIFEST_LARGE_OBJECT};
	char		line[LIST_LINE_BYTES];
	bool		good = true;

	if (stream == NULL)
		return false;
	while (good && fgets(line, sizeof(line), stream))
	{
		object.name = archive_name_of_list_line(line);
		good = object.name != NULL;
		if (good)
			mark(list, find_data_file(list, object.name), &object, counts);
		else
			verify_list_damaged(list, entry->filename, counts,
								psprintf("file \"%s\" is not a list of large objects",
										 printable(entry->filename)), NULL);
	}
	if (ferror(stream))
	{
		verify_list_damaged(list, entry->filename, counts,
							psprintf("could not read file \"%s\": %m",
									 printable(entry->filename)), NULL);
		good = false;
	}
	fclose(stream);
	return good;
}

bool
verify_list_mark_toc(FileList *list, const Toc *toc, VerifyCounts *counts)
{
	bool		all_known = true;

	for (int i = 0; i < toc->n_entries; i++)
	{
		const TocEntry *entry = &toc->entries[i];
		const char *name = entry->filename;
		VerifyFile	named = {.name = name,.kind = MANIFEST_OBJECT_LIST};

		if (!entry->had_dumper || name == NULL || name[0] == '\0')
			continue;
		if (!toc_entry_is(entry, "BLOBS"))
		{
			named.kind = MANIFEST_ROWS;
			named.table = manifest_name_table(entry->namespace, entry->tag);
			named.has_copy_rows = entry->copy_stmt && entry->copy_stmt[0] != '\0';
			mark(list, find_data_file(list, name), &named, counts);
		}
		else if (!mark(list, find(list, name), &named, counts) ||
				 !mark_large_objects(list, entry, counts))
			all_known = false;
	}
	return all_known;
}
