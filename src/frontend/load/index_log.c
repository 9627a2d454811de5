/*
 * index_log.c
 *		When each index was built, for the event log and the report.
 */
#include "base/fe_compat.h"

#include "fe_utils/string_utils.h"

#include "base/event_log.h"
#include "base/message.h"
#include "base/shared_memory.h"
#include "load/index_log.h"
#include "session/session.h"

/* ----------
 * What the target says of an index that is being built, for the screen.
 * ----------
 */

#define LOOK_WAIT_MS 500

/* What all phases of a build that have a measure begin with. */
#define PHASE_PREFIX "building index: "

/*
 * The index is not seen before its transaction commits, so its table stands
 * for it.  Nothing here takes a lock on a table: a constraint's has been
 * taken.  Phases are measured in blocks or in tuples.
 */
static const char look_query[] =
"SELECT pg_catalog.format('%I.%I', n.nspname, c.relname), p.phase,"
" p.blocks_done, p.blocks_total, p.tuples_done, p.tuples_total"
" FROM pg_catalog.pg_stat_progress_create_index p"
" JOIN pg_catalog.pg_stat_activity a ON a.pid OPERATOR(pg_catalog.=) p.pid"
" JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) p.relid"
" JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace"
" WHERE p.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()"
" AND a.usename OPERATOR(pg_catalog.=) SESSION_USER"
" ORDER BY a.query_start, p.pid LIMIT 1";

static PGresult *
take_look(IndexLook *look)
{
	PGresult   *res = NULL;

	if (look->conn == NULL)
		look->conn = connection_try_peer(look->target_address, "pg_pardump");
	if (PQstatus(look->conn) == CONNECTION_OK)
		res = session_exec_within(look->conn, look_query, LOOK_WAIT_MS);
	if (PQresultStatus(res) == PGRES_TUPLES_OK)
		return res;
	look->given_up = true;
	PQclear(res);
	return NULL;
}

/* The share of the phase that is done; -1 if it is not measured. */
static int
percent_done(const PGresult *res)
{
	for (int column = 2; column <= 4; column += 2)
	{
		double		done = atof(PQgetvalue(res, 0, column));
		double		total = atof(PQgetvalue(res, 0, column + 1));

		/* blocks stay at their end when tuples are counted */
		if (total > 0 && (done < total || column == 4))
			return (int) Min(Max(100 * done / total, 0), 100);
	}
	return -1;
}

void
index_look_add(void *arg, ProgressLine *line, bool at_end)
{
	IndexLook  *look = arg;
	PGresult   *res = look->given_up ? NULL : take_look(look);

	if (res && PQntuples(res) == 1)
	{
		const char *phase = printable(PQgetvalue(res, 0, 1));
		int			percent = percent_done(res);

		if (strncmp(phase, PHASE_PREFIX, strlen(PHASE_PREFIX)) == 0)
			phase += strlen(PHASE_PREFIX);
		snprintf(look->phase, sizeof(look->phase), "%.60s ", phase);
		progress_line_add_name(line, 1, PQgetvalue(res, 0, 0));
		if (percent >= 0)
			progress_line_add(line, 2, look->phase, "", "%d%%", percent);
		else
			progress_line_add(line, 2, "", "", "%.60s", phase);
	}
	PQclear(res);
}

void
index_look_end(IndexLook *look)
{
	session_close(look->conn);
	look->conn = NULL;
}

/* ----------
 * When each index was built, for the event log and the report.
 * ----------
 */

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
