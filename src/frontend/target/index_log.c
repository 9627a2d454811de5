/*
 * index_log.c
 *		When each index was built, for the event log and the report.
 */
#include "base/fe_compat.h"

#include "fe_utils/string_utils.h"

#include "base/event_log.h"
#include "base/shared_memory.h"
#include "target/index_log.h"

IndexBuilds
index_log_new(int n)
{
	IndexBuilds builds = {.n = n};

	builds.builds = shared_memory_new(n, sizeof(IndexBuild));
	builds.totals = shared_memory_new(1, sizeof(IndexTotals));
	return builds;
}

int
index_log_built(const IndexBuilds *builds)
{
	return builds->totals->made - builds->totals->failed;
}

/* A constraint's tag begins with its table's (pg_dump's dumpConstraint()). */
char *
index_log_name(const IndexBuild *build)
{
	const TocEntry *entry = build->entry;
	const char *table = build->table->entry->tag;
	const char *name = entry->tag;
	size_t		len = strlen(table);

	if (toc_entry_is(entry, "CONSTRAINT") &&
		strncmp(name, table, len) == 0 && name[len] == ' ')
		name += len + 1;
	return pg_strdup(fmtQualifiedId(entry->namespace, name));
}

static Event *
index_event(const char *kind, const IndexBuild *build)
{
	Event	   *event = event_new(kind);
	char	   *name;

	if (event == NULL)
		return NULL;
	name = index_log_name(build);
	event_add_number(event, "worker", build->index_job);
	event_add_text(event, "name", name);
	event_add_text(event, "table", build->table->name);
	event_add_number(event, "together", build->together);
	free(name);
	return event;
}

void
index_log_begin(IndexBuild *build, int64 start_us)
{
	build->start_us = start_us;
	event_write(index_event("index_start", build));
}

void
index_log_end(IndexBuild *build, int64 end_us)
{
	Event	   *event = index_event("index_end", build);

	build->end_us = end_us;
	event_add_seconds(event, "seconds", (end_us - build->start_us) / 1e6);
	event_write(event);
}
