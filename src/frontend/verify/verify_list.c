/*
 * verify_list.c
 *		Matches the names in a manifest and a table of contents with the files
 *		that are there.
 *
 * A name from an archive is only looked up among the directory's own: it can
 * lead nowhere else.
 */
#include "base/fe_compat.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/archive_name.h"
#include "verify/verify_file.h"
#include "verify/verify_list.h"

/* Longer than any line of a list of large objects. */
#define LIST_LINE_BYTES 512

static int
compare_names(const void *a, const void *b)
{
	return strcmp(((const ListedFile *) a)->file.name,
				  ((const ListedFile *) b)->file.name);
}

FileList *
verify_list_new(const char *directory)
{
	FileList   *list = pg_malloc0(sizeof(FileList));
	DIR		   *dir = opendir(directory);
	struct dirent *entry;
	int			space = 0;

	if (dir == NULL)
		pg_fatal("could not open directory \"%s\": %m", directory);
	list->directory = directory;
	while (errno = 0, (entry = readdir(dir)) != NULL)
	{
		struct stat st;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
			strcmp(entry->d_name, MANIFEST_NAME) == 0)
			continue;
		memset(&st, 0, sizeof(st));
		(void) fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW);
		if (list->n_files == space)
		{
			space = Max(256, space * 2);
			list->files = pg_realloc(list->files, space * sizeof(ListedFile));
		}
		memset(&list->files[list->n_files], 0, sizeof(ListedFile));
		list->files[list->n_files].file.name = pg_strdup(entry->d_name);
		list->files[list->n_files].file.size = st.st_size;
		list->n_files++;
	}
	if (errno != 0)
		pg_fatal("could not read directory \"%s\": %m", directory);
	closedir(dir);
	if (list->n_files > 0)
		qsort(list->files, list->n_files, sizeof(ListedFile), compare_names);
	return list;
}

static ListedFile *
find(const FileList *list, const char *name)
{
	ListedFile	key = {.file.name = name};

	if (list->n_files == 0)
		return NULL;
	return bsearch(&key, list->files, list->n_files, sizeof(ListedFile),
				   compare_names);
}

/* Never freed, as the list is not. */
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
	FileList	there = *list;	/* sorted, while missing files are added */

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
			verify_finding_file(counts, &listed->file, "is missing");
		}
		else if (listed->in_manifest)
			verify_finding_file(counts, &listed->file, "is in the manifest twice");
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
		qsort(list->files, list->n_files, sizeof(ListedFile), compare_names);
}

int
verify_list_open(FileList *list, const char *name, VerifyCounts *counts)
{
	ListedFile *listed = find(list, name);
	int			fd;

	if (listed == NULL)
		verify_finding(counts, name, "is missing");
	if (listed == NULL || listed->unusable)
		return -1;
	fd = verify_file_open(list->directory, &listed->file, counts);
	listed->unusable = fd < 0;
	return fd;
}

void
verify_list_damaged(FileList *list, const char *name, VerifyCounts *counts,
					const char *problem)
{
	ListedFile *listed = find(list, name);

	verify_finding(counts, name, "%s", problem);
	if (listed)
		listed->unusable = true;
}

/* With the suffix that it has: the first that pg_restore would find. */
static ListedFile *
find_data_file(const FileList *list, const char *name)
{
	for (int i = COMPRESS_NONE; i <= COMPRESS_ZSTD; i++)
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
 * The file is this, says the table of contents, or a list that it names; what
 * has the rows of a table is borrowed.
 */
static bool
mark(ListedFile *listed, const VerifyFile *told, VerifyCounts *counts)
{
	if (strchr(told->name, '/'))
		verify_finding_file(counts, told, "has a name that leads out of the archive");
	else if (listed == NULL)
		verify_finding_file(counts, told, "is missing");
	else if (listed->unusable)
		return false;
	else if (listed->in_toc)
		verify_finding_file(counts, told, "is named twice");
	else if (listed->in_manifest && listed->file.kind != told->kind)
		verify_finding_file(counts, told, "is another kind of file in the manifest");
	else
	{
		listed->in_toc = true;
		listed->file.kind = told->kind;
		if (listed->file.table == NULL)
			listed->file.table = told->table;
		listed->file.has_copy_rows = told->has_copy_rows;
		return true;
	}
	return false;
}

/* True if it was read. */
static bool
mark_large_objects(FileList *list, const char *list_name, VerifyCounts *counts)
{
	int			fd = verify_list_open(list, list_name, counts);
	FILE	   *stream = fd >= 0 ? fdopen(fd, "r") : NULL;
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
			mark(find_data_file(list, object.name), &object, counts);
		else
			verify_list_damaged(list, list_name, counts,
								"is not a list of large objects");
	}
	if (ferror(stream))
	{
		verify_list_damaged(list, list_name, counts, "could not be read");
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
		VerifyFile	told = {.name = name,.kind = MANIFEST_OBJECT_LIST};

		if (!entry->had_dumper || name == NULL || name[0] == '\0')
			continue;
		if (!toc_entry_is(entry, "BLOBS"))
		{
			told.kind = MANIFEST_ROWS;
			told.table = manifest_name_table(entry->namespace, entry->tag);
			told.has_copy_rows = entry->copy_stmt && entry->copy_stmt[0] != '\0';
			mark(find_data_file(list, name), &told, counts);
		}
		else if (!mark(find(list, name), &told, counts) ||
				 !mark_large_objects(list, name, counts))
			all_known = false;
	}
	return all_known;
}
