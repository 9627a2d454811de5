/*
 * manifest.c
 *		What the writer and the readers of a manifest have in common.
 */
#include "base/fe_compat.h"

#include "archive/manifest.h"

const ManifestText manifest_head_texts[] = {
	{"Tool-Version", offsetof(Manifest, tool)},
	{"Server-Version", offsetof(Manifest, server_version)},
	{"Pg-Dump-Version", offsetof(Manifest, pg_dump_version)},
	{"System-Identifier", offsetof(Manifest, system_identifier)},
	{"Database", offsetof(Manifest, database)},
	{"Encoding", offsetof(Manifest, encoding)},
	{"Left-Out", offsetof(Manifest, left_out)},
	{"Snapshot", offsetof(Manifest, snapshot)},
	{"LSN", offsetof(Manifest, lsn)},
	{"Slot", offsetof(Manifest, slot)},
	{"Slot-LSN", offsetof(Manifest, slot_lsn)},
	{"Compression", offsetof(Manifest, compression)},
	{"Fingerprint-Algorithm", offsetof(Manifest, fingerprint_algorithm)},
	{"Fingerprint-Key", offsetof(Manifest, fingerprint_key)},
	{"Settings", offsetof(Manifest, settings)},
	{"History-Token", offsetof(Manifest, history_token)},
	{"History-LSN", offsetof(Manifest, history_lsn)},
	{"History-Timeline", offsetof(Manifest, history_timeline)},
	{"History-Server-Start", offsetof(Manifest, history_server_start)},
	{"History-Database", offsetof(Manifest, history_database)},
	{"History-Xmax", offsetof(Manifest, history_xmax)},
	{NULL}
};

const ManifestText manifest_file_texts[] = {
	{"Path", offsetof(ManifestFile, path)},
	{"Schema", offsetof(ManifestFile, schema)},
	{"Table", offsetof(ManifestFile, table)},
	{"Root-Schema", offsetof(ManifestFile, root_schema)},
	{"Root-Table", offsetof(ManifestFile, root_table)},
	{"Where", offsetof(ManifestFile, where)},
	{"Sample", offsetof(ManifestFile, sample)},
	{"Masks", offsetof(ManifestFile, masks)},
	{"Fingerprint", offsetof(ManifestFile, fingerprint)},
	{"First-Fingerprint", offsetof(ManifestFile, first_fingerprint)},
	{"Definition", offsetof(ManifestFile, definition)},
	{"Reused", offsetof(ManifestFile, reused)},
	{NULL}
};

pg_checksum_type
manifest_checksum_type(const Options *options)
{
	pg_checksum_type type = CHECKSUM_TYPE_CRC32C;

	/* it was checked when the options were read */
	if (options->manifest_checksums)
		(void) pg_checksum_parse_type(unconstify(char *, options->manifest_checksums),
									  &type);
	return type;
}

const char *
manifest_kind_name(ManifestFileKind kind)
{
	switch (kind)
	{
		case MANIFEST_TOC:
			return "table of contents";
		case MANIFEST_ROWS:
			return "rows";
		case MANIFEST_LARGE_OBJECT:
			return "large object";
		case MANIFEST_OBJECT_LIST:
			return "large object list";
	}
	return NULL;
}

static void
free_texts(const ManifestText *texts, void *object)
{
	for (; texts->name; texts++)
		free(*(char **) ((char *) object + texts->offset));
}

void
manifest_free(Manifest *manifest)
{
	for (int i = 0; i < manifest->n_files; i++)
		free_texts(manifest_file_texts, &manifest->files[i]);
	free(manifest->files);
	free_texts(manifest_head_texts, manifest);
	free(manifest);
}
