/*
 * run_manifest.c
 *		Makes the manifest of what a dump has planned and its workers have
 *		told.
 */
#include "base/fe_compat.h"

#include "archive/archive_name.h"
#include "archive/manifest.h"
#include "base/clock.h"
#include "base/hex.h"
#include "status/run_manifest.h"
#include "status/summary.h"

/* In hexadecimal, owned; NULL if there is none. */
static char *
hash_text(const FileHash *hash)
{
	return hash->len == 0 ? NULL : hex_encode(hash->bytes, hash->len);
}

static ManifestFile *
run_manifest_add_file(Manifest *manifest, ManifestFileKind kind, char *path,
					  const FileResult *result)
{
	ManifestFile *file = &manifest->files[manifest->n_files++];

	file->path = path;
	file->kind = kind;
	file->rows = result->rows;
	file->raw_bytes = result->raw_bytes;
	file->stored_bytes = result->stored_bytes;
	memcpy(file->checksum, result->checksum, sizeof(file->checksum));
	file->checksum_len = result->checksum_len;
	file->start_us = result->start_us;
	file->end_us = result->end_us;
	file->worker = result->worker;
	return file;
}

static char *
data_file_path(const Run *run, const DataFile *file)
{
	if (run->archive)
		return archive_name_rows(file->dump_id, run->plan->compress.method);
	if (file->n_chunks > 1)
		return psprintf("chunk %d of %d", file->chunk_no, file->n_chunks);
	return pg_strdup("whole table");
}

static char *
blob_path(const Run *run, Oid oid)
{
	if (run->archive == NULL)
		return psprintf("large object %u", oid);
	return archive_name_large_object(oid, run->plan->compress.method);
}

static void
add_data_file(Manifest *manifest, const Run *run, const DataFile *data_file,
			  char *path, const FileResult *result)
{
	const DumpTable *table = &run->plan->tables->tables[data_file->table];
	ManifestFile *file = run_manifest_add_file(manifest, MANIFEST_ROWS, path, result);

	file->schema = table->entry->namespace;
	file->table = table->entry->tag;
	file->root_schema = table->root_schema;
	file->root_table = table->root_table;
	file->where = table->where;
	file->sample = table->sample;
	file->masks = table->mask_hash;
	file->start_block = data_file->start_block;
	file->end_block = data_file->end_block == InvalidBlockNumber ?
		MANIFEST_NO_END : (int64) data_file->end_block;
	if (run->plan->fingerprints == NULL)
		return;
	file->table_oid = table->oid;
	file->relation_blocks = table->heap_blocks;
	file->filenode = table->is_logged ? table->filenode : 0;
	file->tablespace = table->tablespace;
	file->fingerprint = hash_text(&result->fingerprint);
	file->first_fingerprint = hash_text(&result->first_fingerprint);
	file->definition = hash_text(&result->definition);
	file->reused = unconstify(char *, result->reused);
}

/*
 * What each worker did of a file that several made, which is not in an
 * archive.
 */
static int
add_shares(Manifest *manifest, const Run *run, const DataFile *data_file,
		   const FileResult *shares)
{
	int			n = 0;

	for (int i = 0; i < run->results->n_workers; i++)
	{
		if (shares[i].end_us == 0)
			continue;
		add_data_file(manifest, run, data_file,
					  psprintf("pieces by worker %d", i), &shares[i]);
		n++;
	}
	return n;
}

static void
add_data_files(Manifest *manifest, const Run *run)
{
	const ChunkPlan *chunks = run->plan->chunks;
	const FileResults *results = run->results;

	for (int i = 0; i < chunks->n_files; i++)
	{
		const DataFile *file = &chunks->files[i];
		char	   *path = data_file_path(run, file);

		/* what makes an archive is not to be believed without a look */
		if (!results->files[i].done)
			pg_fatal("file \"%s\" has not been written", path);
		if (results->shares[i] == NULL ||
			add_shares(manifest, run, file, results->shares[i]) == 0)
			add_data_file(manifest, run, file, path, &results->files[i]);
	}
}

/* At most. */
static int
count_files(const FileResults *results)
{
	int			n = results->n_files + results->n_objects + results->n_lists + 1;

	for (int i = 0; i < results->n_files; i++)
		if (results->shares[i])
			n += results->n_workers;
	return n;
}

static void
add_large_objects(Manifest *manifest, const Run *run)
{
	const LargeObjects *objects = run->plan->objects;

	for (int i = 0; i < objects->n_groups; i++)
	{
		const LargeObjectGroup *group = &objects->groups[i];

		for (int j = 0; j < group->n_oids; j++)
		{
			int			no = group->first_object + j;
			char	   *path = blob_path(run, group->oids[j]);

			if (!run->results->objects[no].done)
				pg_fatal("file \"%s\" has not been written", path);
			run_manifest_add_file(manifest, MANIFEST_LARGE_OBJECT, path,
								  &run->results->objects[no]);
		}
	}
	for (int i = 0; i < run->results->n_lists; i++)
		run_manifest_add_file(manifest, MANIFEST_OBJECT_LIST,
							  pg_strdup(objects->lists[i].filename),
							  &run->results->lists[i]);
}

Manifest *
run_manifest_new(const Run *run)
{
	const FileResults *results = run->results;
	const DumpPlan *plan = run->plan;
	const DumpOrigin *origin = plan->origin;
	char	   *compression = pg_malloc(COMPRESS_SPEC_ERROR_BYTES);
	Manifest   *manifest = pg_malloc(sizeof(Manifest));
	Manifest	head = {
		.tool = PARDUMP_VERSION,
		.server_version = origin->server_version,
		.pg_dump_version = plan->toc->pg_dump_version,
		.system_identifier = origin->system_identifier,
		.database = origin->database,
		.encoding = unconstify(char *, plan->encoding),
		.left_out = plan->leaves_out_extension ? MANIFEST_OWN_EXTENSION : NULL,
		.snapshot = unconstify(char *, plan->snapshot),
		.lsn = origin->lsn,
		.servers = server_share_text(run),
		.compression = run->archive ? compression : NULL,
		.chunk_bytes = plan->chunks->chunk_bytes,
		.slot = unconstify(char *, origin->slot),
		.slot_lsn = unconstify(char *, origin->slot_lsn),
		.start_us = origin->start_us,
		.end_us = clock_wall_us(),
		.jobs = run->options->jobs,
		.retries = run->n_retries,
		.checksum_type = results->checksum_type,
	};

	compress_spec_print(&plan->compress, compression,
						COMPRESS_SPEC_ERROR_BYTES);
	if (plan->fingerprints)
	{
		head.fingerprint_algorithm =
			unconstify(char *, plan->fingerprints->algorithm);
		head.fingerprint_key = unconstify(char *, plan->fingerprints->key);
		head.settings = plan->fingerprints->settings;
	}
	if (plan->history)
	{
		head.history_token = plan->history->token;
		head.history_lsn = plan->history->lsn;
		head.history_timeline = plan->history->timeline;
		head.history_server_start = plan->history->server_start;
		head.history_database = plan->history->database;
		head.history_xmax = plan->history->xmax;
	}
	*manifest = head;
	manifest->files = pg_malloc0(count_files(results) * sizeof(ManifestFile));
	add_data_files(manifest, run);
	add_large_objects(manifest, run);
	run_manifest_add_file(manifest, MANIFEST_TOC, pg_strdup(TOC_NAME), results->toc);
	return manifest;
}

void
run_manifest_write(const Run *run, const Manifest *manifest)
{
	manifest_write(manifest,
				   archive_dir_new_file(run->archive, MANIFEST_NAME));
}
