/*
 * previous_archive.c
 *		Opens the archive with which an incremental dump is compared, and
 *		finds the files of a table in it.
 */
#include "base/fe_compat.h"

#include "archive/archive_name.h"
#include "archive/archive_piped.h"
#include "archive/archive_read.h"
#include "archive/toc.h"
#include "base/buffer.h"
#include "base/checksum.h"
#include "base/hex.h"
#include "plan/previous_archive.h"
#include "session/session.h"
#include "stream/regular_file.h"

/* ----------
 * The rules for fingerprints of rows.
 * ----------
 */

#define KEY_BYTES 32

/*
 * All settings that affect the output of types with definitions
 * (doc/incremental_functions.md, "Fingerprints"), and the encoding of the
 * output.
 */
#define SETTING(name) "pg_catalog.current_setting('" name "')"
static const char settings_query[] =
"SELECT " SETTING("server_encoding") " AS server_encoding,"
" " SETTING("client_encoding") " AS client_encoding,"
" " SETTING("DateStyle") " AS \"DateStyle\","
" " SETTING("IntervalStyle") " AS \"IntervalStyle\","
" " SETTING("TimeZone") " AS \"TimeZone\","
" " SETTING("extra_float_digits") " AS extra_float_digits,"
" " SETTING("bytea_output") " AS bytea_output";

char *
fingerprint_settings(PGconn *conn)
{
	PGresult   *res = session_query(conn, settings_query);
	PQExpBufferData text = buffer_new();

	if (PQntuples(res) != 1)
	{
		pg_log_error("could not read the settings that determine the text of rows");
		pg_log_error_detail("The server returned %d rows for a query that returns one.",
							PQntuples(res));
		pg_fatal_hint("If you connect through a connection pooler or a proxy, connect to the server itself.");
	}
	for (int i = 0; i < PQnfields(res); i++)
		appendPQExpBuffer(&text, "%s%s = %s", i > 0 ? "; " : "",
						  PQfname(res, i), PQgetvalue(res, 0, i));
	return buffer_text(&text);
}

FingerprintSpec *
fingerprint_spec_new(PGconn *conn, pg_checksum_type checksum_type)
{
	FingerprintSpec *spec = pg_malloc0(sizeof(FingerprintSpec));

	spec->algorithm = checksum_type == CHECKSUM_TYPE_NONE ||
		checksum_type == CHECKSUM_TYPE_CRC32C ? "poly1305" : "sha256";
	spec->key = hex_random(KEY_BYTES);
	spec->settings = fingerprint_settings(conn);
	return spec;
}

/* ----------
 * The archive.
 * ----------
 */

/*
 * A member of the head that must be the same, and the message if it is not.
 */
typedef struct HeadText
{
	size_t		offset;
	const char *reason;
} HeadText;

/*
 * The server's version must be the same, because a minor release may have
 * corrected an output function.  Only the method of compression must be the
 * same, because the archive's table of contents contains one method; the user
 * may change its level.
 */
static const HeadText head_texts[] = {
	{offsetof(Manifest, tool), "its version of pg_pardump was %s, but is %s now"},
	{offsetof(Manifest, server_version), "its server version was %s, but is %s now"},
	{offsetof(Manifest, encoding), "its encoding was %s, but is %s now"},
	{offsetof(Manifest, compression), "its compression was %s, but is %s now"},
	{offsetof(Manifest, settings), "its settings were %s, but are %s now"},
	{offsetof(Manifest, fingerprint_algorithm), "its fingerprint algorithm was %s, but is %s now"},
};

void
previous_archive_check(const char *previous, const char *directory)
{
	struct stat st;
	struct stat dir_st;

	if (stat(previous, &st) == 0 && !S_ISDIR(st.st_mode))
		pg_fatal("\"%s\" is not a directory", previous);
	if (access(previous, R_OK | X_OK) < 0)
		pg_fatal("could not open directory \"%s\" of the previous archive: %m",
				 previous);
	if (directory == NULL ||
		stat(directory, &dir_st) < 0 || st.st_dev != dir_st.st_dev ||
		st.st_ino != dir_st.st_ino)
		return;
	pg_log_error("the new archive cannot be in the directory of the previous archive, \"%s\"",
				 previous);
	pg_fatal_hint("Use -f to specify another directory.");
}

void
previous_archive_warn(const char *directory, const char *problem)
{
	pg_log_warning("cannot reuse archive \"%s\"", directory);
	pg_log_warning_detail("%s", message_sentence(problem));
	pg_log_warning_detail("All rows will be dumped.");
}

static const char *
text_of(const Manifest *manifest, size_t offset)
{
	return *(char *const *) ((const char *) manifest + offset);
}

/*
 * Describe how the settings from fingerprint_settings() differ.  Both texts
 * contain "name = value" for each setting, in the same order, separated by ";
 * ".  NULL if they do not differ only in values.
 */
static const char *
describe_settings(const char *before, const char *now)
{
	PQExpBufferData text = buffer_new();

	while (*before && *now)
	{
		int			len_before = strcspn(before, ";");
		int			len_now = strcspn(now, ";");
		int			name_len = strcspn(before, " ;");

		/* Another version of this program may compare other settings. */
		if (strncmp(before, now, name_len + 3) != 0 ||
			strncmp(before + name_len, " = ", 3) != 0)
			return NULL;
		if (len_before != len_now || strncmp(before, now, len_now) != 0)
			appendPQExpBuffer(&text, "%sits %.*s was %.*s, but is %.*s now",
							  text.len > 0 ? "; " : "", name_len, before,
							  len_before - name_len - 3, before + name_len + 3,
							  len_now - name_len - 3, now + name_len + 3);
		before += len_before + strspn(before + len_before, "; ");
		now += len_now + strspn(now + len_now, "; ");
	}
	return *before || *now || text.len == 0 ? NULL : printable(text.data);
}

/* Returns why none of the files can be reused; NULL if they can. */
static const char *
why_not_head(const Manifest *before, const Manifest *now)
{
	if (before->fingerprint_key == NULL)
		return "it has no fingerprints";
	if (strlen(before->fingerprint_key) != strlen(now->fingerprint_key))
		return "the key of its fingerprints is damaged";
	if (before->checksum_type == CHECKSUM_TYPE_NONE)
		return "its manifest has no checksums";
	if (before->checksum_type != now->checksum_type)
		return "its manifest has checksums of another algorithm";
	for (int i = 0; i < (int) lengthof(head_texts); i++)
	{
		const char *its = text_of(before, head_texts[i].offset);
		const char *ours = text_of(now, head_texts[i].offset);

		const char *settings = NULL;

		if (its && ours && strcmp(its, ours) == 0)
			continue;
		if (its && ours && head_texts[i].offset == offsetof(Manifest, settings))
			settings = describe_settings(its, ours);
		if (settings)
			return settings;
		return psprintf(head_texts[i].reason,
						its ? printable(its) : "?",
						ours ? printable(ours) : "?");
	}
	return NULL;
}

/* Is the archive complete?  It is if it has a toc.dat. */
static bool
has_toc(int dir_fd)
{
	const char *problem;
	int			fd = regular_file_open(dir_fd, TOC_NAME, &problem);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/*
 * The order of the files, for qsort(), which compares pointers to the
 * elements.
 */
static int
previous_archive_compare(const void *a, const void *b)
{
	const ManifestFile *one = *(const ManifestFile *const *) a;
	const ManifestFile *other = *(const ManifestFile *const *) b;

	if (one->table_oid != other->table_oid)
		return one->table_oid < other->table_oid ? -1 : 1;
	if (one->start_block != other->start_block)
		return one->start_block < other->start_block ? -1 : 1;
	return 0;
}

static void
sort_files(PreviousArchive *previous)
{
	const Manifest *manifest = previous->manifest;

	previous->files = pg_malloc((manifest->n_files + 1) * sizeof(ManifestFile *));
	for (int i = 0; i < manifest->n_files; i++)
	{
		const ManifestFile *file = &manifest->files[i];

		if (file->kind == MANIFEST_ROWS && file->table_oid != 0)
			previous->files[previous->n_files++] = file;
	}
	qsort(previous->files, previous->n_files, sizeof(ManifestFile *),
		  previous_archive_compare);
}

PreviousArchive *
previous_archive_accept(PreviousArchive *previous, const Manifest *head,
						const char **problem)
{
	*problem = previous->problem ? previous->problem :
		why_not_head(previous->manifest, head);
	if (*problem == NULL)
	{
		sort_files(previous);
		return previous;
	}
	if (previous->dir_fd >= 0)
		close(previous->dir_fd);
	return NULL;
}

PreviousArchive *
previous_archive_open(const char *directory, const Manifest *head,
					  const char **problem)
{
	PreviousArchive *previous = pg_malloc0(sizeof(PreviousArchive));
	bool		exists;

	previous->directory = directory;
	previous->dir_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (previous->dir_fd < 0)
		pg_fatal("could not open directory \"%s\" of the previous archive: %m",
				 directory);

	/*
	 * The manifest is read by its path, the files later through the open
	 * directory.  If another archive gets that path meanwhile, its files do
	 * not have the checksums of this manifest, and are not used.
	 */
	previous->manifest = manifest_load(directory, &exists, problem);
	if (previous->manifest == NULL)
		previous->problem = exists ? *problem : "it has no manifest";
	else if (!has_toc(previous->dir_fd))
		previous->problem = "it has no " TOC_NAME;
	return previous_archive_accept(previous, head, problem);
}

/* ----------
 * An archive whose files commands return.
 * ----------
 */

/* Read the manifest once.  Returns the error, owned, or NULL. */
static char *
read_manifest(Archive *archive)
{
	pg_checksum_context identity;
	char	   *problem;

	checksum_begin(&identity, CHECKSUM_TYPE_SHA256);
	problem = archive_read_manifest(archive, NULL, &identity);
	archive->commands->identity = checksum_end_hex(&identity);
	return problem;
}

/*
 * Read toc.dat once.  Returns the error, owned, or NULL.  Only its checksum
 * in the manifest matters: toc.dat was stored last, so the archive is
 * complete.
 */
static char *
read_toc(Archive *archive)
{
	size_t		len;
	char	   *problem;

	free(archive_read_all(archive, TOC_NAME, &len, &problem));
	return problem;
}

static char *
read_with_retries(Archive *archive, char *(*read) (Archive *archive))
{
	Retry		retry = {0};
	char	   *problem;

	while ((problem = read(archive)) != NULL &&
		   archive_read_again(archive, &retry, problem))
		free(problem);
	return problem;
}

/*
 * Returns why the manifest cannot be used, or NULL.  Commands are run only
 * for names that a dump creates.
 */
static const char *
find_invalid_name(const Manifest *manifest)
{
	for (int i = 0; i < manifest->n_files; i++)
		if (!archive_name_is_harmless(manifest->files[i].path))
			return psprintf("the manifest contains invalid file name \"%s\"",
							printable(manifest->files[i].path));
	return NULL;
}

/*
 * Returns an archive with the commands of --pipe-copy.  A copy may take long,
 * and its command need not print anything, so there is no timeout.
 */
static Archive *
new_copies(const char *pattern, uint64 retries)
{
	const Options options = {.retries = retries,.stall_timeout = 0};

	return archive_piped_new(&options, pattern);
}

/*
 * A command fails in the same way for a file that is missing and in a store
 * that cannot be reached.  If it returns one of the two files, the store can
 * be reached, and the other one is missing or damaged.
 */
PreviousArchive *
previous_archive_fetch(const Options *options)
{
	PreviousArchive *previous = pg_malloc0(sizeof(PreviousArchive));
	Archive    *archive = archive_piped_new(options, options->incremental_pipe);
	char	   *manifest_problem = read_with_retries(archive, read_manifest);
	char	   *toc_problem = read_with_retries(archive, read_toc);

	if (manifest_problem && toc_problem)
	{
		pg_log_error("could not read the previous archive");
		pg_log_error_detail("%s", message_sentence(manifest_problem));
		pg_log_error_detail("%s", message_sentence(toc_problem));
		pg_log_error_detail("Command was: %s", command_reader_last());
		pg_fatal_hint("Run the command in a shell, and check whether the store can be reached.  For the first dump into a store, use --manifest-fingerprints instead of --incremental-pipe and --pipe-copy.");
	}
	previous->directory = options->incremental_pipe;
	previous->dir_fd = -1;
	previous->manifest = archive->manifest;
	previous->identity = archive->commands->identity;
	previous->problem = manifest_problem ? manifest_problem : toc_problem ?
		toc_problem : find_invalid_name(archive->manifest);
	previous->copies = new_copies(options->pipe_copy, options->retries);
	return previous;
}

void
previous_archive_check_again(const PreviousArchive *previous,
							 const Options *options)
{
	Archive    *archive = archive_piped_new(options, options->incremental_pipe);
	char	   *problem = read_with_retries(archive, read_manifest);

	if (problem == NULL &&
		strcmp(archive->commands->identity, previous->identity) == 0)
		return;
	if (problem)
	{
		pg_log_error("could not read the manifest of the previous archive again");
		pg_log_error_detail("%s", message_sentence(problem));
		pg_log_error_detail("Command was: %s", command_reader_last());
	}
	else
		pg_log_error("the previous archive was replaced during the dump");
	pg_log_error_detail("Files that were copied from the previous archive may contain other rows than its manifest describes.");
	pg_fatal_hint("Verify the previous archive with --verify, and run the same command again with a new destination.");
}

/* ----------
 * The archive in a task, whose leader has read the manifest.
 * ----------
 */

PreviousArchive *
previous_archive_reach(const char *directory, pg_checksum_type checksum_type,
					   const char *pipe_copy, uint64 retries)
{
	PreviousArchive *previous = pg_malloc0(sizeof(PreviousArchive));
	Manifest   *manifest = pg_malloc0(sizeof(Manifest));

	manifest->checksum_type = checksum_type;
	previous->directory = directory;
	previous->manifest = manifest;
	previous->dir_fd = -1;
	if (pipe_copy)
	{
		previous->copies = new_copies(pipe_copy, retries);
		return previous;
	}
	previous->dir_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (previous->dir_fd < 0)
		previous_archive_warn(directory, psprintf("could not open directory: %m"));
	return previous;
}

/* ----------
 * A table in the previous archive.
 * ----------
 */

/*
 * Returns the first of these files that belongs to this table and block, or
 * comes after it.
 */
static int
first_from(const ManifestFile **files, int n, Oid table, BlockNumber start)
{
	const ManifestFile wanted = {.table_oid = table,.start_block = start};
	const ManifestFile *key = &wanted;

	return lower_bound(&key, files, n, sizeof(ManifestFile *),
					   previous_archive_compare);
}

/*
 * Does the file contain all rows of its blocks, and does it have
 * fingerprints?
 */
static bool
is_reusable(const ManifestFile *file)
{
	return file->fingerprint && file->first_fingerprint && file->definition &&
		file->where == NULL && file->sample == NULL && file->masks == NULL;
}

bool
previous_table_find(const PreviousArchive *previous, Oid table,
					PreviousTable *found)
{
	int			first = first_from(previous->files, previous->n_files, table, 0);
	int			end = first;

	memset(found, 0, sizeof(PreviousTable));
	found->files = &previous->files[first];
	while (end < previous->n_files && previous->files[end]->table_oid == table)
	{
		if (is_reusable(previous->files[end]))
			found->reusable = previous->files[end];
		end++;
	}
	found->n_files = end - first;
	return found->n_files > 0;
}

const ManifestFile *
previous_table_match(const PreviousTable *table, BlockNumber start,
					 BlockNumber end, BlockNumber n_blocks)
{
	const ManifestFile *file;
	int64		its_end;
	int			i;

	if (table->n_files == 0)
		return NULL;

	/*
	 * Both files have no end: each contains all blocks up to the end of the
	 * table.
	 */
	if (end == InvalidBlockNumber)
		end = n_blocks;
	i = first_from(table->files, table->n_files, table->files[0]->table_oid,
				   start);
	file = table->files[Min(i, table->n_files - 1)];
	its_end = file->end_block == MANIFEST_NO_END ?
		(int64) file->relation_blocks : file->end_block;
	return file->start_block == (int64) start && its_end == (int64) end &&
		is_reusable(file) ? file : NULL;
}

/* Is every block in exactly one of the files? */
static bool
cuts_are_whole(const PreviousTable *table)
{
	int64		next = 0;

	for (int i = 0; i < table->n_files; i++)
	{
		const ManifestFile *file = table->files[i];
		bool		is_last = i == table->n_files - 1;

		if (file->start_block != next ||
			(file->end_block == MANIFEST_NO_END) != is_last ||
			(!is_last && file->end_block <= next))
			return false;
		next = file->end_block;
	}
	return table->n_files > 0;
}

/*
 * Cut the blocks that were added to the table; returns the number of starts.
 */
static int
cut_tail(BlockNumber *starts, int n, BlockNumber before, BlockNumber n_blocks,
		 BlockNumber chunk_blocks)
{
	BlockNumber last = starts[n - 1];
	BlockNumber from = Max(before, last);
	uint64		tail = n_blocks - from;
	uint64		parts = Max((tail + chunk_blocks / 2) / chunk_blocks, 1);

	if (from > last && tail < (chunk_blocks + 1) / 2 &&
		n_blocks - last <= (uint64) chunk_blocks * 3 / 2)
		return n;				/* they are added to the last range */
	/* If the last range was empty, cut as if it did not exist. */
	if (from == last)
		n--;
	for (uint64 i = 0; i < parts; i++)
		starts[n++] = from + (BlockNumber) (tail * i / parts);
	return n;
}

int
previous_table_cuts(const PreviousTable *table, BlockNumber n_blocks,
					BlockNumber chunk_blocks, BlockNumber **starts)
{
	BlockNumber before;
	int			n = 0;

	if (!cuts_are_whole(table))
		return 0;
	before = table->files[table->n_files - 1]->relation_blocks;
	*starts = pg_malloc((table->n_files + (size_t) n_blocks / chunk_blocks + 3) *
						sizeof(BlockNumber));
	for (int i = 0; i < table->n_files; i++)
		if (i == 0 || table->files[i]->start_block < (int64) n_blocks)
			(*starts)[n++] = (BlockNumber) table->files[i]->start_block;
	if (n_blocks > before && n == table->n_files)
		n = cut_tail(*starts, n, before, n_blocks, chunk_blocks);
	return n;
}
