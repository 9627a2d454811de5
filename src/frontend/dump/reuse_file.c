/*
 * reuse_file.c
 *		Reuses the previous archive's file of a chunk if the chunk's rows have
 *		not changed.
 *
 * The definition of the table, the rows, and the bytes of the old file must
 * all be unchanged.  The server computes keyed hashes of the definition and
 * the rows, so that unchanged rows need not be sent.  The old file is
 * compared with the checksum in its manifest.  If any of these is in doubt,
 * the chunk is dumped as usual: a wrongly reused file would only be noticed
 * when it is restored.
 *
 * A file that commands store (--pipe) is not compared, because reading it
 * could take longer than dumping it again.  The manifest says that it was not
 * read.
 */
#include "base/fe_compat.h"

#include "archive/archive_name.h"
#include "archive/archive_piped.h"
#include "base/checksum.h"
#include "base/clock.h"
#include "base/hex.h"
#include "base/identifier.h"
#include "base/interrupt.h"
#include "base/shared_memory.h"
#include "dump/reuse_file.h"
#include "options/own_options.h"
#include "stream/regular_file.h"

#define READ_BYTES (256 * 1024)

/* The file that is being reused. */
typedef struct Taking
{
	const PreviousArchive *previous;
	const ManifestFile *file;
	int			fd;				/* the open file */
	const char *problem;
} Taking;

/*
 * Read all of a file, and compare it with its size and checksum in the
 * manifest.  Its bytes are also written to the sink, unless it is NULL.
 */
static bool
read_right(Taking *taking, int fd, Sink *sink)
{
	const ManifestFile *file = taking->file;
	char	   *buffer = pg_malloc(READ_BYTES);
	uint8		digest[PG_CHECKSUM_MAX_LENGTH];
	int			digest_len;
	pg_checksum_context checksum;
	uint64		bytes = 0;
	ssize_t		len;

	checksum_begin(&checksum, taking->previous->manifest->checksum_type);
	while ((len = pread(fd, buffer, READ_BYTES, (off_t) bytes)) != 0)
	{
		interrupt_check();
		if (len < 0 && errno == EINTR)
			continue;
		if (len < 0)
			break;
		bytes += len;
		checksum_add(&checksum, buffer, len);
		if (bytes > file->stored_bytes)
			break;
		if (sink)
			sink_write(sink, buffer, len);
	}
	if (len < 0)
		taking->problem = psprintf("could not read file \"%s\": %s",
								   printable(file->path), strerror(errno));
	free(buffer);
	digest_len = checksum_end(&checksum, digest);
	if (taking->problem == NULL && bytes != file->stored_bytes)
		taking->problem = "the size does not match the manifest";
	else if (taking->problem == NULL &&
			 (digest_len != file->checksum_len ||
			  memcmp(digest, file->checksum, file->checksum_len) != 0))
		taking->problem = "the checksum does not match the manifest";
	return taking->problem == NULL;
}

/*
 * Can only this user write to the file?  With a hard link, both archives
 * share the file, so another user who can write to it could change the new
 * archive after it was verified.
 */
static bool
is_ours_alone(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
		(st.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/*
 * Check the clone after it was created: if the original were checked, its
 * bytes could change before it is cloned.
 */
static bool
take_clone(Taking *taking, const ArchiveDir *dir, const char *name)
{
	int			fd = archive_dir_clone_file(dir, taking->fd, name);

	if (fd < 0)
		return false;
	if (!read_right(taking, fd, NULL))
		archive_dir_remove_file(dir, name);
	close(fd);
	return true;
}

/*
 * Copy the file.  It is read only once, so the bytes that are written are
 * those that were checked.  A copy with wrong bytes is removed.
 */
static void
take_copy(Taking *taking, const ArchiveDir *dir, const char *name)
{
	Sink	   *sink = archive_dir_new_file(dir, name);
	bool		right = read_right(taking, taking->fd, sink);

	sink_finish(sink);
	sink_free(sink);
	if (!right)
		archive_dir_remove_file(dir, name);
}

/* Returns false if the method cannot be used for this file. */
static bool
take_by(Taking *taking, CopyMethod method, const ArchiveDir *dir,
		const char *name)
{
	switch (method)
	{
		case COPY_METHOD_LINK:
			if (!is_ours_alone(taking->fd))
				return false;
			return !read_right(taking, taking->fd, NULL) ||
				archive_dir_link_file(dir, taking->fd,
									  taking->previous->dir_fd,
									  taking->file->path, name);
		case COPY_METHOD_CLONE:
			return take_clone(taking, dir, name);
		case COPY_METHOD_COPY:
			take_copy(taking, dir, name);
			return true;
		case COPY_METHOD_PIPE:
			break;
	}
	return false;
}

/*
 * Add the file to the archive under a new name, with this method, or, if the
 * file system does not support it, with the next one: a hard link, a clone,
 * which shares its blocks until one is written, or a copy. *method is set to
 * the method that was used.  A file that another user can write to is never
 * linked.  Returns false, sets *problem, and leaves no new file if the old
 * file is not as expected.  Exits with a message if a new file cannot be
 * written.
 */
static bool
previous_file_take(const PreviousArchive *previous, const ManifestFile *file,
				   const ArchiveDir *dir, const char *new_name,
				   CopyMethod *method, const char **problem)
{
	Taking		taking = {previous, file};

	taking.fd = regular_file_open(previous->dir_fd, file->path, problem);
	if (taking.fd < 0)
		return false;
	while (!take_by(&taking, *method, dir, new_name))
		*method = (CopyMethod) (*method + 1);
	close(taking.fd);
	*problem = taking.problem;
	return taking.problem == NULL;
}

/* ----------
 * Fingerprints from the extension.
 * ----------
 */

static const char reads_query[] =
"SELECT " PARDUMP_FINGERPRINT_READS "($1::pg_catalog.bytea, $2::pg_catalog.text)";

static const char last_query[] =
"SELECT f.fingerprint, f.first_fingerprint, f.definition FROM "
PARDUMP_LAST_FINGERPRINT "() f";

static const char definition_query[] =
"SELECT pg_catalog.encode(d.definition, 'hex'::pg_catalog.text) FROM "
PARDUMP_DEFINITION "($1::pg_catalog.oid::pg_catalog.regclass,"
" $2::pg_catalog.name[]) d";

static const char fingerprint_query[] =
"SELECT pg_catalog.encode(f.fingerprint, 'hex'::pg_catalog.text), f.rows FROM "
PARDUMP_FINGERPRINT "($1::pg_catalog.oid::pg_catalog.regclass,"
" $2::pg_catalog.name[], $3::pg_catalog.int8, $4::pg_catalog.int8,"
" $5::pg_catalog.bytea, $6::pg_catalog.text, $7::pg_catalog.bytea) f";

/*
 * Returns false if this session's settings differ from those of the previous
 * fingerprints: values would be printed in another way, and all hashes would
 * differ.
 */
bool
fingerprint_reads(PGconn *conn, const FingerprintSpec *spec)
{
	char	   *settings = fingerprint_settings(conn);
	bool		same = strcmp(settings, spec->settings) == 0;
	char	   *key = psprintf("\\x%s", spec->key);
	const char *params[] = {key, spec->algorithm};

	if (same)
		PQclear(session_query_params(conn, reads_query, 2, params, 0));
	free(key);
	free(settings);
	return same;
}

/* Read a hash from a result in binary format. */
static void
take_hash(const PGresult *res, int column, FileHash *hash)
{
	int			len = PQgetlength(res, 0, column);

	if (len > (int) sizeof(hash->bytes))
		session_unexpected_extension(psprintf("A fingerprint has %d bytes instead of at most %zu.",
											  len, sizeof(hash->bytes)));
	memcpy(hash->bytes, PQgetvalue(res, 0, column), len);
	hash->len = len;
}

void
fingerprint_last_read(PGconn *conn, FileResult *result)
{
	PGresult   *res = session_query_params(conn, last_query, 0, NULL, 1);

	if (PQntuples(res) != 1)
		session_unexpected_extension("The fingerprint is missing.");
	take_hash(res, 0, &result->fingerprint);
	take_hash(res, 1, &result->first_fingerprint);
	take_hash(res, 2, &result->definition);
	PQclear(res);
}

/*
 * Returns the table's columns as the argument of the two queries below; the
 * caller owns it.
 */
static char *
fingerprint_columns(PGconn *conn, const DumpTable *table)
{
	char	  **names = pg_malloc((table->n_columns + 1) * sizeof(char *));
	char	   *result;

	for (int i = 0; i < table->n_columns; i++)
		names[i] = identifier_unquote(table->columns[i]);
	result = text_array(conn, names, table->n_columns);
	for (int i = 0; i < table->n_columns; i++)
		free(names[i]);
	free(names);
	return result;
}

/* Is this text the only value of the result? */
static bool
value_is(const PGresult *res, const char *text)
{
	return PQntuples(res) == 1 && !PQgetisnull(res, 0, 0) &&
		strcmp(PQgetvalue(res, 0, 0), text) == 0;
}

static bool
fingerprint_same_rows(PGconn *conn, const DumpTable *table,
					  const char *columns, const DataFile *file,
					  const FingerprintSpec *spec)
{
	const ManifestFile *previous = file->previous;
	char	   *oid = psprintf("%u", table->oid);
	char	   *start = psprintf("%u", file->start_block);
	char	   *end = file->end_block == InvalidBlockNumber ? NULL :
		psprintf("%u", file->end_block);
	char	   *key = psprintf("\\x%s", spec->key);
	char	   *first = psprintf("\\x%s", previous->first_fingerprint);
	const char *params[] = {oid, columns, start, end, key, spec->algorithm, first};
	PGresult   *res = session_query_params(conn, fingerprint_query, 7, params, 0);
	bool		result = value_is(res, previous->fingerprint) &&
		result_number(res, 0, 1) == previous->rows;

	PQclear(res);
	free(oid);
	free(start);
	free(end);
	free(key);
	free(first);
	return result;
}

/*
 * Does the table still have the definition that it had when the previous
 * archive's file was written?
 */
static bool
fingerprint_same_definition(PGconn *conn, const DumpTable *table,
							const char *columns, const DataFile *file)
{
	char	   *oid = psprintf("%u", table->oid);
	const char *params[] = {oid, columns};
	PGresult   *res = session_query_params(conn, definition_query, 2, params, 0);
	bool		result = value_is(res, file->previous->definition);

	PQclear(res);
	free(oid);
	return result;
}

/* ----------
 * Reusing the file of a chunk.
 * ----------
 */

/*
 * After MAX_MISSES changed chunks of a table in a row, the other chunks have
 * probably changed too, so only one in TRY_EVERY is compared.
 */
#define MAX_MISSES 8
#define TRY_EVERY 4

static const char rows_changed[] = "its rows have changed";

struct Reuse
{
	volatile int *misses;		/* by table: consecutive changed chunks;
								 * shared */
};

Reuse *
reuse_new(const DumpPlan *plan)
{
	Reuse	   *reuse;

	if (plan->previous == NULL)
		return NULL;
	reuse = pg_malloc0(sizeof(Reuse));
	reuse->misses = shared_memory_new(plan->tables->n_tables, sizeof(int));
	return reuse;
}

static void
set_hash(FileHash *hash, const char *text)
{
	hash->len = Max(hex_decode(text, hash->bytes, sizeof(hash->bytes)), 0);
}

/*
 * Set the result of a reused file from the manifest of the previous archive.
 */
static void
set_result(const Run *run, FileResult *result, const ManifestFile *previous,
		   CopyMethod method, int64 start_us)
{
	file_result_set(run->results, result, start_us, previous->rows,
					previous->raw_bytes, previous->stored_bytes);
	memcpy(result->checksum, previous->checksum, sizeof(result->checksum));
	result->checksum_len = previous->checksum_len;
	set_hash(&result->fingerprint, previous->fingerprint);
	set_hash(&result->first_fingerprint, previous->first_fingerprint);
	set_hash(&result->definition, previous->definition);
	result->reused = copy_method_name(method);
	__sync_synchronize();
	result->done = true;
}

static const char *
take_file(const Run *run, const DataFile *file, int64 start_us)
{
	const DumpPlan *plan = run->plan;
	const PreviousArchive *previous = plan->previous;
	CopyMethod	method = previous->copies ? COPY_METHOD_PIPE :
		own_options_copy_method(run->options);
	char	   *name = archive_name_rows(file->dump_id, plan->compress.method);
	const char *problem = NULL;
	bool		taken = true;

	if (previous->copies)
		archive_piped_copy(previous->copies, file->previous->path, name);
	else
		taken = previous_file_take(previous, file->previous, run->archive,
								   name, &method, &problem);
	free(name);
	if (!taken)
	{
		/*
		 * Warn, because the previous archive is damaged, and its owner may
		 * rely on it.
		 */
		pg_log_warning("could not reuse file \"%s/%s\"; dumping its rows again",
					   previous->directory, file->previous->path);
		pg_log_warning_detail("%s", message_sentence(problem));
		return "the file of the previous archive does not match its manifest";
	}
	set_result(run, run_file_result(run, file), file->previous, method, start_us);
	return NULL;
}

static void
report_untouched(const DumpPlan *plan, const DataFile *file)
{
	char	   *what = data_file_describe(file, plan->tables);

	pg_log_info("no block of %s was modified since the previous archive",
				what);
	free(what);
}

/*
 * Returns what has changed, the definition or the rows, or NULL if nothing
 * has.
 */
static const char *
what_changed(PGconn *conn, const DumpPlan *plan, const DumpTable *table,
			 const DataFile *file)
{
	char	   *columns = fingerprint_columns(conn, table);
	const char *what = NULL;

	if (!fingerprint_same_definition(conn, table, columns, file))
		what = "its definition has changed";
	else if (file->untouched)
		report_untouched(plan, file);
	else if (!fingerprint_same_rows(conn, table, columns, file,
									plan->fingerprints))
		what = rows_changed;
	free(columns);
	return what;
}

/*
 * The server hashes rows only if the cheaper comparisons succeed.  After
 * several changed chunks in a row, the table has probably changed everywhere.
 * Most of its other chunks are then dumped without hashing them first, which
 * would read their rows twice.
 */
const char *
reuse_file(Reuse *reuse, PGconn *conn, const Run *run, const DataFile *file)
{
	const DumpPlan *plan = run->plan;
	const DumpTable *table = &plan->tables->tables[file->table];
	const char *new_reason = plan->chunks->tables[file->table].new_reason;
	volatile int *misses = &reuse->misses[file->table];
	int64		start_us = clock_wall_us();
	const char *changed;

	if (new_reason)
		return new_reason;
	if (file->previous == NULL)
		return "the previous archive has no file with these blocks";
	if (*misses >= MAX_MISSES && !plan->knows_changes &&
		file->chunk_no % TRY_EVERY != 0)
		return "other chunks of the table have changed";
	changed = what_changed(conn, plan, table, file);
	if (changed == NULL)
	{
		*misses = 0;
		return take_file(run, file, start_us);
	}
	if (changed == rows_changed)
		++* misses;
	return changed;
}
