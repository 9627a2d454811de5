/*
 * test_index_attach.c
 *		Attachments of one partition tree are made one after the other, those
 *		of another tree beside them.
 */
#include "base/fe_compat.h"

#include "archive/toc.h"
#include "unit_test.h"

/* An INDEX ATTACH entry that depends on the index above and on its own. */
static TocEntry
attachment(int dump_id, int above, int index)
{
	TocEntry	entry = {.dump_id = dump_id,.tag = "i",.desc = "INDEX ATTACH"};

	entry.deps = pg_malloc(2 * sizeof(int));
	entry.deps[0] = index;
	entry.deps[1] = above;
	entry.n_deps = 2;
	return entry;
}

void
test_index_attach(void)
{
	TocEntry	entries[5];
	Toc			toc = {.entries = entries,.n_entries = 5,.max_dump_id = 35};

	/* the tree of 1, with the branches 2 and 3; and that of 10 */
	entries[0] = attachment(31, 2, 4);
	entries[1] = attachment(32, 10, 11);
	entries[2] = attachment(33, 3, 5);
	entries[3] = attachment(34, 1, 2);
	entries[4] = attachment(35, 1, 3);
	index_attach_chain(&toc);
	is_number(entries[0].n_deps, 2, "the first waits for none");
	is_number(entries[1].n_deps, 2, "nor does that of another tree");
	is_number(entries[2].n_deps, 3, "that of another branch waits");
	is_number(entries[2].deps[2], 31, "for the first");
	is_number(entries[3].deps[2], 33, "the branch waits for that");
	is_number(entries[4].deps[2], 34, "and the other branch for this");
	for (int i = 0; i < toc.n_entries; i++)
		free(entries[i].deps);
}
