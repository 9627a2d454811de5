/*
 * test_toc.c
 *		A table of contents is read as it was written, in every version of the
 *		format; and refused when it ends early.
 */
#include "base/fe_compat.h"

#include "archive/toc_file.h"
#include "stream/sink.h"
#include "unit_test.h"

typedef struct Input
{
	const char *pos;
	size_t		left;
} Input;

static size_t
read_input(void *arg, void *buf, size_t len)
{
	Input	   *input = arg;
	size_t		part = Min(len, input->left);

	memcpy(buf, input->pos, part);
	input->pos += part;
	input->left -= part;
	return part;
}

static Toc *
read_toc(const PQExpBuffer bytes, size_t len)
{
	Input		input = {bytes->data, len};
	const char *problem;

	return toc_read_file(read_input, &input, false, &problem);
}

static PQExpBuffer
written(const Toc *toc)
{
	const CompressSpec compress = {COMPRESS_GZIP, 6};
	PQExpBuffer bytes = createPQExpBuffer();
	Sink	   *sink = sink_buffer_new(bytes);

	toc_write(toc, &compress, sink);
	sink_finish(sink);
	sink_free(sink);
	return bytes;
}

/* How many of the shorter inputs are refused: all should be. */
static size_t
count_refused(const PQExpBuffer bytes)
{
	size_t		n_refused = 0;

	for (size_t len = 0; len < bytes->len; len++)
	{
		Toc		   *toc = read_toc(bytes, len);

		if (toc == NULL)
			n_refused++;
		else
			toc_free(toc);
	}
	return n_refused;
}

/* Of what is unlike in both, the first; NULL if nothing is. */
static const char *
difference(const TocEntry *a, const TocEntry *b, int minor)
{
#define SAME_TEXT(field) \
	if ((a->field == NULL) != (b->field == NULL) || \
		(a->field && strcmp(a->field, b->field) != 0)) \
		return #field
	SAME_TEXT(tag);
	SAME_TEXT(desc);
	SAME_TEXT(defn);
	SAME_TEXT(drop_stmt);
	SAME_TEXT(copy_stmt);
	SAME_TEXT(namespace);
	SAME_TEXT(tablespace);
	SAME_TEXT(tableam);
	SAME_TEXT(owner);
#undef SAME_TEXT
	if (a->dump_id != b->dump_id || a->section != b->section)
		return "dump_id or section";
	if (a->catalog_oid != b->catalog_oid || a->oid != b->oid)
		return "an OID";
	if (a->relkind != (minor >= 16 ? b->relkind : 0))
		return "relkind";
	if (a->had_dumper != b->had_dumper)
		return "had_dumper";
	/* pg_dump, too, writes an empty name for none */
	if (strcmp(a->filename, b->filename ? b->filename : "") != 0)
		return "filename";
	if (a->n_deps != b->n_deps ||
		(a->n_deps > 0 && memcmp(a->deps, b->deps, a->n_deps * sizeof(int)) != 0))
		return "deps";
	return NULL;
}

static void
check_minor(Toc *toc, int minor)
{
	PQExpBuffer bytes;
	Toc		   *again;

	toc->minor = minor;
	bytes = written(toc);
	again = read_toc(bytes, bytes->len);
	is_number(again ? again->n_entries : -1, toc->n_entries,
			  psprintf("1.%d is read", minor));
	if (again == NULL)
		return;
	for (int i = 0; i < toc->n_entries; i++)
		is_text(difference(&again->entries[i], &toc->entries[i], minor), NULL,
				psprintf("1.%d, entry %d is as it was", minor, i));
	is_text(again->dbname, toc->dbname, psprintf("1.%d, the database", minor));
	is_number(again->max_dump_id, 9, psprintf("1.%d, the largest ID", minor));
	ok(toc_has_mark(again) && !toc_has_mark(toc), psprintf("1.%d, our mark", minor));
	is_number(count_refused(bytes), bytes->len,
			  psprintf("1.%d, nothing shorter is taken", minor));
	toc_free(again);
	destroyPQExpBuffer(bytes);
}

static void
check_by_id(const Toc *toc)
{
	const TocEntry **by_id = toc_entries_by_id(toc);

	ok(by_id[3] == &toc->entries[0], "an entry by its ID");
	ok(by_id[4] == NULL, "no entry of an ID that is depended on only");
	free(by_id);
}

/*
 * The number of large objects in the list of the last entry; *last is set to
 * the last of them.
 */
static int
count_large_objects(const Toc *toc, Oid *last)
{
	const TocEntry **by_id = toc_entries_by_id(toc);
	Oid		   *oids;
	int			n = toc_large_objects(toc, by_id, &toc->entries[toc->n_entries - 1],
									  &oids);

	*last = n > 0 ? oids[n - 1] : InvalidOid;
	free(oids);
	free(by_id);
	return n;
}

static void
check_large_objects(void)
{
	int			deps[] = {2};
	TocEntry	entries[] = {
		{.dump_id = 1,.desc = "BLOB",.tag = "12",.oid = 12},
		{.dump_id = 2,.desc = "BLOB METADATA",.tag = "13..4294967295"},
		{.dump_id = 3,.desc = "BLOB",.tag = "4294967294",.oid = 4294967294U},
		{.dump_id = 4,.desc = "BLOBS",.tag = "BLOBS",.deps = deps,.n_deps = 1},
	};
	Toc			toc = {.entries = entries,.n_entries = lengthof(entries),.max_dump_id = 4};
	Oid			last;

	toc.minor = 15;
	is_number(count_large_objects(&toc, &last), 2, "1.15, large objects: each has an entry");
	is_number(last, 4294967294U, "1.15, large objects: the last one");
	toc.minor = 16;
	is_number(count_large_objects(&toc, &last), 0, "1.16, large objects: no list");
	entries[1].defn = "13\n14\n4294967295\n";
	is_number(count_large_objects(&toc, &last), 3, "1.16, large objects: a list");
	is_number(last, 4294967295U, "1.16, large objects: the last one");
	entries[1].defn = "13\nx\n";
	is_number(count_large_objects(&toc, &last), 0, "1.16, large objects: not a list");
	entries[3].n_deps = 0;
	is_number(count_large_objects(&toc, &last), 0, "1.16, large objects: no dependency");
}

void
test_toc(void)
{
	int			deps[] = {9, 3};
	TocEntry	entries[] = {
		{.dump_id = 3,.catalog_oid = 1259,.oid = 4294967295U,.tag = "t",
			.desc = "TABLE",.section = TOC_SECTION_PRE_DATA,
			.defn = "CREATE TABLE t ();\n",.drop_stmt = "DROP TABLE t;\n",
		.namespace = "public",.tablespace = "",.tableam = "heap",.relkind = 'r',.owner = "me"},
		{.dump_id = 7,.had_dumper = true,.oid = 5,.tag = "a \"name\"\n",
			.desc = "TABLE DATA",.section = TOC_SECTION_DATA,
			.copy_stmt = "COPY t FROM stdin;\n",.deps = deps,.n_deps = 2,
		.filename = "7.dat"},
		{.dump_id = 8,.tag = "",.desc = "COMMENT",.section = TOC_SECTION_NONE},
	};
	Toc			toc = {.offset_size = 8,.created = {1, 2, 3, 4, 5, 126, 0},
	.dbname = "db",.server_version = "15.1",.pg_dump_version = "15.1",
	.entries = entries,.n_entries = lengthof(entries),.max_dump_id = 9};

	check_minor(&toc, 14);
	check_minor(&toc, 15);
	check_minor(&toc, 16);
	check_by_id(&toc);
	check_large_objects();
}
