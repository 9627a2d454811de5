/*
 * index_look.c
 *		What the target says of an index that is being built, for the screen,
 *		or of one that may have been.
 */
#include "base/fe_compat.h"

#include "base/printable.h"
#include "session/table_name.h"
#include "target/index_look.h"

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
	PQfinish(look->conn);
	look->conn = NULL;
}

/* ----------
 * Is it there?
 * ----------
 */

/* A build locks its table so, and no session of pg_restore else. */
static const char in_work_query[] =
"SELECT FROM pg_catalog.pg_locks l"
" JOIN pg_catalog.pg_stat_activity a ON a.pid OPERATOR(pg_catalog.=) l.pid"
" WHERE l.relation OPERATOR(pg_catalog.=) " TABLE_OID_OF("$1::pg_catalog.text")
" AND a.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()"
" AND a.application_name OPERATOR(pg_catalog.=) 'pg_restore'"
" AND l.granted AND l.mode OPERATOR(pg_catalog.=)"
" ANY ('{ShareLock,AccessExclusiveLock}'::pg_catalog.text[])";

static const char built_query[] =
"SELECT FROM pg_catalog.pg_index x"
" WHERE x.indrelid OPERATOR(pg_catalog.=) " TABLE_OID_OF("$1::pg_catalog.text")
" AND x.indexrelid OPERATOR(pg_catalog.=) " TABLE_OID_OF("$2::pg_catalog.text");

/* Is there a row?  Else, or if there is no answer, the other state. */
static IndexState
ask(PGconn *conn, const char *sql, int n, const char *const *params,
	IndexState if_so, IndexState if_not)
{
	PGresult   *res = PQexecParams(conn, sql, n, NULL, params, NULL, NULL, 0);
	IndexState	result = PQntuples(res) > 0 ? if_so : if_not;

	if (PQresultStatus(res) != PGRES_TUPLES_OK)
		result = INDEX_NOT_KNOWN;
	PQclear(res);
	return result;
}

IndexState
index_look_at(PGconn *conn, const IndexBuild *build)
{
	char	   *name = index_log_name(build);
	const char *params[] = {build->table->name, name};
	IndexState	result;

	/* most are: to look through all locks takes longer */
	result = ask(conn, built_query, 2, params, INDEX_BUILT, INDEX_MISSING);
	if (result == INDEX_MISSING)
		result = ask(conn, in_work_query, 1, params, INDEX_IN_WORK, result);
	/* it may have ended in between */
	if (result == INDEX_MISSING)
		result = ask(conn, built_query, 2, params, INDEX_BUILT, result);
	free(name);
	return result;
}

bool
index_look_at_batch(PGconn *conn, const IndexBatch *batch,
					const IndexBuild *builds, bool *is_built)
{
	for (int i = 0; i < batch->n_units; i++)
	{
		const IndexUnit *unit = batch->units[i];

		for (int j = unit->first; j < unit->first + unit->n; j++)
		{
			IndexState	state = index_look_at(conn, &builds[j]);

			if (state == INDEX_IN_WORK || state == INDEX_NOT_KNOWN)
				return false;
			is_built[j] = state == INDEX_BUILT;
		}
	}
	return true;
}
