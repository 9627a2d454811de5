/*
 * copy_page.c
 *		The page of --report, of a direct copy.
 */
#include "base/fe_compat.h"

#include "copy/copy_page.h"
#include "status/run_manifest.h"

static int
compare_builds(const void *a, const void *b)
{
	const ReportBuild *b1 = a;
	const ReportBuild *b2 = b;

	if (b1->index_job != b2->index_job)
		return b1->index_job < b2->index_job ? -1 : 1;
	return b1->start_us < b2->start_us ? -1 : b1->start_us > b2->start_us;
}

/* All of them were built: whatever fails ends the copy without a page. */
static ReportBuild *
collect_builds(const IndexBuilder *builder)
{
	const IndexBuild *builds = index_builder_builds(builder);
	int			n = index_builder_entries(builder);
	ReportBuild *result = pg_malloc0((n + 1) * sizeof(ReportBuild));

	for (int i = 0; i < n; i++)
	{
		const TocEntry *table = builds[i].table->entry;

		result[i].name = index_log_name(&builds[i]);
		result[i].schema = table->namespace;
		result[i].table = table->tag;
		result[i].index_job = builds[i].index_job;
		result[i].start_us = builds[i].start_us;
		result[i].end_us = builds[i].end_us;
	}
	qsort(result, n, sizeof(ReportBuild), compare_builds);
	return result;
}

void
copy_page_end(Report *page, const CopyAccount *account,
			  const PeerAddress *target_address)
{
	ReportStage stages[COPY_STAGE_END];
	Manifest   *manifest;
	ReportCopy	copy = {
		.target = target_address->conninfo,
		.times = copy_account_times(account),
		.formats = copy_account_formats(account),
		.compared = account->run->options->compare,
		.stages = stages,
		.n_stages = copy_account_stages(account, stages),
		.end_us = account->began_us[COPY_STAGE_END],
	};

	if (page == NULL)
		return;
	copy.builds = collect_builds(account->builder);
	copy.n_builds = index_builder_entries(account->builder);
	manifest = run_manifest_new(account->run);
	report_end(page, manifest, NULL, &copy);
}
