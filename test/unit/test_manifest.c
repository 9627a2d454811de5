/*
 * test_manifest.c
 *		A manifest is read as it was written, and refused if any byte of it is
 *		another.
 */
#include "base/fe_compat.h"

#include "pqexpbuffer.h"

#include "archive/archive_read.h"
#include "archive/manifest.h"
#include "stream/sink.h"
#include "unit_test.h"

static PQExpBuffer
written(const Manifest *manifest)
{
	PQExpBuffer text = createPQExpBuffer();
	uint64		size = manifest_write(manifest, sink_buffer_new(text));

	is_number(size, text->len, "the size of a manifest");
	return text;
}

static void
check_file(const ManifestFile *found, const ManifestFile *expected)
{
	is_text(found->path, expected->path, expected->path);
	is_number(found->kind, expected->kind, "its kind");
	is_text(found->schema, expected->schema, "its schema");
	is_text(found->table, expected->table, "its table");
	is_text(found->where, expected->where, "its condition");
	is_number(found->start_block, expected->start_block, "its first block");
	is_number(found->end_block, expected->end_block, "its last block");
	is_number(found->rows, expected->rows, "its rows");
	is_number(found->raw_bytes, expected->raw_bytes, "its bytes");
	is_number(found->stored_bytes, expected->stored_bytes, "its size");
	is_number(found->start_us, expected->start_us, "its time");
	is_number(found->worker, expected->worker, "its worker");
	ok(found->checksum_len == expected->checksum_len &&
	   memcmp(found->checksum, expected->checksum, expected->checksum_len) == 0,
	   "its checksum");
}

/* How many manifests with one byte changed are refused: all should be. */
static void
check_changes(const PQExpBuffer text)
{
	size_t		n_refused = 0;

	for (size_t i = 0; i < text->len; i++)
	{
		const char *problem = NULL;
		Manifest   *manifest;

		text->data[i] ^= 1;
		manifest = manifest_read(text->data, text->len, &problem);
		text->data[i] ^= 1;
		if (manifest == NULL && problem != NULL)
			n_refused++;
		else if (manifest)
			manifest_free(manifest);
	}
	is_number(n_refused, text->len, "a byte that is another is noticed");
}

static void
check_round_trip(void)
{
	ManifestFile files[] = {
		{.path = "toc.dat",.kind = MANIFEST_TOC,.raw_bytes = 10,.stored_bytes = 10,.checksum_len = 4},
		{.path = "7.dat.gz",.kind = MANIFEST_ROWS,.schema = "public",
			.table = "\303\244\"\n",.where = "a > '\\'",.start_block = 16,.end_block = 32,
			.rows = 5,.raw_bytes = PG_INT64_MAX / 2,.stored_bytes = 99,.checksum = {1, 255},
		.checksum_len = 4,.start_us = INT64CONST(1790000000000001),.end_us = INT64CONST(1790000000000002),.worker = 3},
		{.path = "8.dat.gz",.kind = MANIFEST_ROWS,.schema = "s",.table = "t",
		.end_block = MANIFEST_NO_END,.checksum_len = 4},
	};
	Manifest	manifest = {.tool = "1.0.0",.encoding = "UTF8",.database = "d",
		.compression = "gzip:6",.jobs = 4,.checksum_type = CHECKSUM_TYPE_CRC32C,
	.files = files,.n_files = lengthof(files)};
	PQExpBuffer text = written(&manifest);
	const char *problem = NULL;
	Manifest   *again = manifest_read(text->data, text->len, &problem);

	is_text(problem, NULL, "what was written is read");
	if (again == NULL)
		return;
	is_text(again->database, "d", "the database");
	is_text(again->lsn, NULL, "what is not known");
	is_number(again->jobs, 4, "jobs");
	is_number(again->n_files, manifest.n_files, "files");
	for (int i = 0; i < again->n_files; i++)
		check_file(&again->files[i], &files[i]);
	manifest_free(again);
	check_changes(text);
	destroyPQExpBuffer(text);
}

/* Paths that lead elsewhere. */
static void
check_path(char *path)
{
	ManifestFile file = {.path = path,.kind = MANIFEST_TOC};
	Manifest	manifest = {.checksum_type = CHECKSUM_TYPE_NONE,.files = &file,.n_files = 1};
	PQExpBuffer text = written(&manifest);
	const char *problem = NULL;

	(void) manifest_read(text->data, text->len, &problem);
	is_text(problem, "the manifest contains an invalid file name", psprintf("path \"%s\"", path));
	destroyPQExpBuffer(text);
}

static void
check_table_name(const char *schema, const char *table, const char *expected)
{
	char	   *found = manifest_name_table(schema, table);

	is_text(found, expected, expected);
	free(found);
}

static void
warn_of_size(const void *arg)
{
	archive_read_check_manifest_size(*(const uint64 *) arg);
}

static void
check_size(uint64 size, const char *output, const char *what)
{
	child_ends(warn_of_size, &size, 0, output, what);
}

void
test_manifest(void)
{
	check_round_trip();
	check_path("../toc.dat");
	check_path("/etc/passwd");
	check_path("..");
	check_path("");
	check_table_name("public", "t_1", "public.t_1");
	check_table_name("My schema", "1t", "\"My schema\".\"1t\"");
	check_table_name("a\"b", "t", "\"a\"\"b\".t");
	check_table_name(NULL, "t", "\"\".t");
	check_size(ARCHIVE_READ_MOST_BYTES, "", "the largest manifest for commands");
	check_size(ARCHIVE_READ_MOST_BYTES + 1,
			   "unit_test: warning: the manifest is too large to be read through commands\n"
			   "unit_test: detail: It has 512 MB; the limit is 512 MB.\n"
			   "unit_test: hint: Before you restore or verify the archive, copy it into a directory.\n",
			   "a manifest that is too large for commands");
}
