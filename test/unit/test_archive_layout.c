/*
 * test_archive_layout.c
 *		Chunks, barriers and completions, as archive_layout.c describes them.
 */
#include "base/fe_compat.h"

#include "pqexpbuffer.h"

#include "plan/archive_layout.h"
#include "unit_test.h"

/*
 * An archive of two tables: ID 1 is the definition of "a", 2 that of "b", 3
 * and 4 are their rows, 5 is an index of "a", 6 one of "b", 7 large objects.
 */
static int	of_a[] = {1};
static int	of_b[] = {2};
static TocEntry entries[] = {
	{.dump_id = 1,.tag = "a",.desc = "TABLE",.section = TOC_SECTION_PRE_DATA},
	{.dump_id = 2,.tag = "b",.desc = "TABLE",.section = TOC_SECTION_PRE_DATA},
	{.dump_id = 3,.tag = "a",.desc = "TABLE DATA",.section = TOC_SECTION_DATA,
	.had_dumper = true,.copy_stmt = "COPY a FROM stdin;\n",.deps = of_a,.n_deps = 1},
	{.dump_id = 4,.tag = "b",.desc = "TABLE DATA",.section = TOC_SECTION_DATA,
	.had_dumper = true,.copy_stmt = "COPY b FROM stdin;\n",.deps = of_b,.n_deps = 1},
	{.dump_id = 7,.tag = "BLOBS",.desc = "BLOBS",.section = TOC_SECTION_DATA,.had_dumper = true},
	{.dump_id = 5,.tag = "a_i",.desc = "INDEX",.section = TOC_SECTION_POST_DATA,
	.deps = of_a,.n_deps = 1},
	{.dump_id = 6,.tag = "b_i",.desc = "INDEX",.section = TOC_SECTION_POST_DATA,
	.deps = of_b,.n_deps = 1},
};

/* One line an entry: ID, description, dependencies, file. */
static char *
layout_text(const Toc *toc)
{
	PQExpBuffer text = createPQExpBuffer();

	for (int i = 0; i < toc->n_entries; i++)
	{
		const TocEntry *entry = &toc->entries[i];

		appendPQExpBuffer(text, "%d %s%s", entry->dump_id, entry->desc,
						  entry->copy_stmt ? " COPY" : "");
		for (int j = 0; j < entry->n_deps; j++)
			appendPQExpBuffer(text, "%s%d", j == 0 ? " <" : ",", entry->deps[j]);
		appendPQExpBuffer(text, " %s\n", entry->filename ? entry->filename : "-");
	}
	return text->data;
}

/* "a" in three chunks, the second the biggest, and "b" whole. */
static void
check_layout(Toc *toc, const char *expected, const char *what)
{
	DataFile	files[] = {
		{.table = 0,.chunk_no = 1,.n_chunks = 3,.est_bytes = 10},
		{.table = 0,.chunk_no = 2,.n_chunks = 3,.est_bytes = 30},
		{.table = 0,.chunk_no = 3,.n_chunks = 3,.est_bytes = 20},
		{.table = 1,.n_chunks = 1,.est_bytes = 5},
	};
	ChunkPlan	plan = {.files = files,.n_files = lengthof(files)};
	DumpTable	tables[] = {{.entry = &entries[2]}, {.entry = &entries[3]}};
	DumpTables	dump_tables = {.tables = tables,.n_tables = lengthof(tables)};
	Toc		   *layout = archive_layout_make(toc, &dump_tables, &plan);

	is_text(layout_text(layout), expected, what);
	is_number(layout->max_dump_id, files[2].dump_id,
			  psprintf("%s: IDs are dense", what));
	is_number(files[3].dump_id, 4, psprintf("%s: a whole table keeps its ID", what));
}

static void
make_unknown_data(const void *arg)
{
	TocEntry	entry = {.dump_id = 1,.tag = "x",.desc = "SECRETS",
	.section = TOC_SECTION_DATA,.had_dumper = true};
	Toc			toc = {.minor = 16,.entries = &entry,.n_entries = 1,.max_dump_id = 1};
	DumpTables	tables = {0};
	ChunkPlan	plan = {0};

	(void) archive_layout_make(&toc, &tables, &plan);
}

void
test_archive_layout(void)
{
	Toc			toc = {.minor = 14,.entries = entries,.n_entries = lengthof(entries),.max_dump_id = 7};
	Toc			data_only = {.minor = 16,.entries = entries + 2,.n_entries = 3,.max_dump_id = 7};

	check_layout(&toc,
				 "1 TABLE -\n"
				 "2 TABLE -\n"
				 "10 TABLE DATA COPY <1 10.dat\n"
				 "11 TABLE DATA COPY <8,1 11.dat\n"
				 "12 TABLE DATA COPY <1 12.dat\n"
				 "3 TABLE DATA <1,10,11,12 -\n"
				 "4 TABLE DATA COPY <2 4.dat\n"
				 "7 BLOBS blobs.toc\n"
				 "9 TABLE DATA COMPLETE <10,8,12 -\n"
				 "5 INDEX <9,8 -\n"
				 "6 INDEX <2 -\n",
				 "definitions and data");
	check_layout(&data_only,
				 "8 TABLE DATA COPY <1 8.dat\n"
				 "9 TABLE DATA COPY <8,1 9.dat\n"
				 "10 TABLE DATA COPY <9,1 10.dat\n"
				 "3 TABLE DATA <1,8,9,10 -\n"
				 "4 TABLE DATA COPY <2 4.dat\n"
				 "7 BLOBS blobs_7.toc\n",
				 "data only");
	child_ends(make_unknown_data, NULL, 1,
			   "unit_test: error: could not read the output of pg_dump\n"
			   "unit_test: detail: It contains data of an unknown kind: \"SECRETS\".\n"
			   "unit_test: hint: Check that --pg-dump specifies a stock pg_dump 15 to 19.\n",
			   "data of an unknown kind");
}
