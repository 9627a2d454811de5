/*
 * index_look.c
 *		What the target says of an index that is being built, for the screen.
 */
#include "base/fe_compat.h"

#include "base/message.h"
#include "session/session.h"
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
	session_close(look->conn);
	look->conn = NULL;
}
