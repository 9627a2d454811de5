/*
 * reuse_file.c
 *		Takes the previous archive's file of a chunk, if its rows have not
 *		changed.
 *
 * The definition of the table, the rows, and the bytes of the old file must
 * all be what they were.  The definition and the rows are compared by keyed
 * hashes that the server computes, so unchanged rows need not be sent; the
 * old file is compared with the checksum in its manifest.  If any of these is
 * in doubt the chunk is dumped as usual: a file that was reused wrongly would
 * not be noticed before it is restored.
 */
#include "base/fe_compat.h"

#include "archive/archive_name.h"
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

/* The one that is being taken. */
typedef struct Taking
{
	const PreviousArchive *previous;
	const ManifestFile *file;
	int			fd;				/* open on it */
	const char *problem;
} Taking;

/*
 * Read all of a file, to the sink if there is one, and compare it with what
 * the manifest says.
 */
static bool
read_right(Taking *taking, int fd, Sink *sink)
{
	const ManifestFile *file = taking->file;
	char	   *buffer = pg_malloc(READ_BYTES);
	uint8		digest[PG_CHECKSUM_MAX_LENGTH];
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
		taking->problem = psprintf("could not be read: %s", strerror(errno));
	free(buffer);
	if (pg_checksum_final(&checksum, digest) != file->checksum_len)
		pg_fatal("could not compute a checksum");
	if (taking->problem == NULL && bytes != file->stored_bytes)
		taking->problem = "does not match its size in the manifest";
	else if (taking->problem == NULL &&
			 memcmp(digest, file->checksum, file->checksum_len) != 0)
		taking->problem = "does not match its checksum in the manifest";
	return taking->problem == NULL;
}

/*
 * A hard link is the same file in both archives.  Another user who can write
 * to the old one could change the new archive after it was verified.
 */
static bool
is_ours_alone(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
		(st.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/*
 * A clone is checked after it was made: bytes that change between check and
 * clone would be in the new archive otherwise.
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
 * The bytes that are written are those that were checked, as they are read
 * once; a copy that proves wrong is removed.
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

/* False if the method cannot be used here. */
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
	}
	return false;
}

/*
 * Take it over under a new name, by this method or, where the file system
 * cannot, by the next one: a link to the same file, a clone that shares its
 * blocks until one is written, a copy.  *method is what it was.  A file that
 * another user may write to is never linked.  False, and *problem, if it is
 * not what it should be; then there is no new file.  Exits with a message if
 * a new file cannot be written.
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
 * Asks the extension for fingerprints of rows.
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
 * False if this session's settings are not those that the previous
 * fingerprints were made with: values would be written differently, and all
 * hashes would differ.
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

/* A value of a result in binary format. */
static void
take_hash(const PGresult *res, int column, FileHash *hash)
{
	int			len = PQgetlength(res, 0, column);

	if (len > (int) sizeof(hash->bytes))
		session_unexpected(psprintf("A fingerprint has %d bytes instead of at most %zu.",
									len, sizeof(hash->bytes)));
	memcpy(hash->bytes, PQgetvalue(res, 0, column), len);
	hash->len = len;
}

void
fingerprint_last_read(PGconn *conn, FileResult *result)
{
	PGresult   *res = session_query_params(conn, last_query, 0, NULL, 1);

	if (PQntuples(res) != 1)
		session_unexpected("The fingerprint is missing.");
	take_hash(res, 0, &result->fingerprint);
	take_hash(res, 1, &result->first_fingerprint);
	take_hash(res, 2, &result->definition);
	PQclear(res);
}

/* The table's columns, as the two below take them; owned. */
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

/* Is the only value of a result this text? */
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
 * Has the table the definition that it had for the previous archive's file;
 * and its rows, are they what they were, and as many?
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
 * Takes the previous archive's file of a chunk, if its rows have not
 * changed.
 * ----------
 */

/*
 * After this number of changed chunks of a table in a row others will have
 * changed, too: then only one in this number is tried.
 */
#define MAX_MISSES 8
#define TRY_EVERY 4

static const char rows_changed[] = "its rows have changed";

struct Reuse
{
	volatile int *misses;		/* by table: in a row; shared */
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

/* All is as the previous archive's manifest has it. */
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
	CopyMethod	method = own_options_copy_method(run->options);
	char	   *name = archive_name_rows(file->dump_id, plan->compress.method);
	const char *problem;
	bool		taken = previous_file_take(plan->previous, file->previous,
										   run->archive, name, &method, &problem);

	free(name);
	if (!taken)
	{
		/* its owner may want to keep it */
		pg_log_warning("file \"%s/%s\" %s; dumping its rows again",
					   plan->previous->directory, file->previous->path, problem);
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

/* What has changed of its definition or rows; NULL if nothing has. */
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
 * Rows are hashed by the server only if the cheaper comparisons succeed.
 * After several changed chunks in a row the table is likely to have changed
 * everywhere, so most of its other chunks are dumped without being hashed,
 * which would read them twice.
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
