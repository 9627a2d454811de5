/*
 * load_page.c
 *		The page of --report, of a copy or a restore.
 */
#include "base/fe_compat.h"

#include "load/load_page.h"
#include "status/run_manifest.h"

/* What was not built, as a restore may go on after an error, is not shown. */
static ReportBuild *
collect_builds(const IndexBuilds *indexes, int *n_builds)
{
	const IndexBuild *builds = indexes->builds;
	int			n = indexes->n;
	ReportBuild *result = pg_malloc0((n + 1) * sizeof(ReportBuild));

	*n_builds = 0;
	for (int i = 0; i < n; i++)
	{
		const TocEntry *table = builds[i].table->entry;
		ReportBuild *build = &result[*n_builds];

		if (builds[i].end_us == 0)
			continue;
		build->name = index_log_name(&builds[i]);
		build->schema = table->namespace;
		build->table = table->tag;
		build->index_job = builds[i].index_job;
		build->start_us = builds[i].start_us;
		build->end_us = builds[i].end_us;
		++*n_builds;
	}
	return result;
}

void
load_page_end(Report *page, const LoadAccount *account, int n_errors,
			  const PeerAddress *target_address)
{
	ReportStage stages[LOAD_STAGE_END];
	Manifest   *manifest;
	ReportCopy	copy = {
		.target = target_address->conninfo,
		.times = load_account_times(account),
		.before = account->run->options->resume ?
		load_account_before(account) : NULL,
		.formats = account->formats,
		.compared = account->run->options->compare,
		.archive = account->run->options->restore,
		.n_errors = n_errors,
		.stages = stages,
		.n_stages = load_account_stages(account, stages),
		.end_us = account->began_us[LOAD_STAGE_END],
	};

	if (page == NULL)
		return;
	copy.builds = collect_builds(account->indexes, &copy.n_builds);
	manifest = run_manifest_new(account->run);
	report_end(page, manifest, NULL, &copy);
}
