/*
 * verify_list.c
 *		Matches the names in a manifest and a table of contents with the files
 *		that are there.
 *
 * A name from an archive is only looked up among the directory's own: it can
 * lead nowhere else.
 */
#include "fe_compat.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "printable.h"
#include "verify_list.h"

/* Longer than any line of a list of large objects. */
#define LIST_LINE_BYTES 512

static int
compare_names(const void *a, const void *b)
{
	return strcmp(((const ListedFile *) a)->file.name,
				  ((const ListedFile *) b)->file.name);
}

FileList *
file_list_new(const char *directory)
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
		if (list->n_files == space)
		{
			space = Max(256, space * 2);
			list->files = pg_realloc(list->files, space * sizeof(ListedFile));
		}
		memset(&list->files[list->n_files], 0, sizeof(ListedFile));
		list->files[list->n_files].file.name = pg_strdup(entry->d_name);
		if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
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

void
file_list_mark_manifest(FileList *list, const Manifest *manifest,
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
			listed->unusable = true;
			verify_finding(counts, want->path, "is missing");
		}
		else if (listed->in_manifest)
			verify_finding(counts, want->path, "is in the manifest twice");
		else
		{
			listed->in_manifest = true;
			listed->file.kind = want->kind;
			listed->file.has_copy_rows = want->kind == MANIFEST_ROWS;
			listed->file.want = want;
		}
	}
	if (list->n_files > 0)
		qsort(list->files, list->n_files, sizeof(ListedFile), compare_names);
}

int
file_list_open(FileList *list, const char *name, VerifyCounts *counts)
{
	ListedFile *listed = find(list, name);
	int			fd;

	if (listed == NULL)
		verify_finding(counts, name, "is missing");
	if (listed == NULL || listed->unusable)
		return -1;
	fd = verify_open(list->directory, name, counts);
	listed->unusable = fd < 0;
	return fd;
}

/* With the suffix that it has: the first that pg_restore would find. */
static ListedFile *
find_data_file(const FileList *list, const char *name)
{
	for (int i = COMPRESS_NONE; i <= COMPRESS_ZSTD; i++)
	{
		char	   *path = psprintf("%s%s", name,
									compress_method_suffix((CompressMethod) i));
		ListedFile *found = find(list, path);

		free(path);
		if (found)
			return found;
	}
	return NULL;
}

/* The file is this, says the table of contents, or a list that it names. */
static bool
mark(ListedFile *listed, const char *name, ManifestFileKind kind,
	 bool has_copy_rows, VerifyCounts *counts)
{
	if (strchr(name, '/'))
		verify_finding(counts, name, "has a name that leads out of the archive");
	else if (listed == NULL)
		verify_finding(counts, name, "is missing");
	else if (listed->unusable)
		return false;
	else if (listed->in_toc)
		verify_finding(counts, name, "is named twice");
	else if (listed->in_manifest && listed->file.kind != kind)
		verify_finding(counts, name, "is another kind of file in the manifest");
	else
	{
		listed->in_toc = true;
		listed->file.kind = kind;
		listed->file.has_copy_rows = has_copy_rows;
		return true;
	}
	return false;
}

/* Lines "OID NAME" (pg_backup_directory.c:_EndLO).  True if it was read. */
static bool
mark_large_objects(FileList *list, const char *list_name, VerifyCounts *counts)
{
	int			fd = file_list_open(list, list_name, counts);
	FILE	   *stream = fd >= 0 ? fdopen(fd, "r") : NULL;
	char		line[LIST_LINE_BYTES];
	bool		good = true;

	if (stream == NULL)
		return false;
	while (good && fgets(line, sizeof(line), stream))
	{
		char	   *name = line + strspn(line, "0123456789");
		char	   *end = strchr(line, '\n');

		good = name > line && *name == ' ' && end != NULL;
		if (!good)
		{
			verify_finding(counts, list_name, "is not a list of large objects");
			break;
		}
		*end = '\0';
		name++;
		mark(find_data_file(list, name), name, MANIFEST_LARGE_OBJECT, false,
			 counts);
	}
	if (ferror(stream))
	{
		verify_finding(counts, list_name, "could not be read");
		good = false;
	}
	fclose(stream);
	return good;
}

bool
file_list_mark_toc(FileList *list, const Toc *toc, VerifyCounts *counts)
{
	bool		all_known = true;

	for (int i = 0; i < toc->n_entries; i++)
	{
		const TocEntry *entry = &toc->entries[i];
		const char *name = entry->filename;

		if (!entry->had_dumper || name == NULL || name[0] == '\0')
			continue;
		if (!toc_entry_is(entry, "BLOBS"))
			mark(find_data_file(list, name), name, MANIFEST_ROWS,
				 entry->copy_stmt && entry->copy_stmt[0] != '\0', counts);
		else if (!mark(find(list, name), name, MANIFEST_OBJECT_LIST, false, counts) ||
				 !mark_large_objects(list, name, counts))
			all_known = false;
	}
	return all_known;
}
