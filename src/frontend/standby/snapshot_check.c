/*
 * snapshot_check.c
 *		Looks whether an exported snapshot has all it needs to be imported.
 */
#include "base/fe_compat.h"

#include "base/printable.h"
#include "session/extension_name.h"
#include "session/session.h"
#include "shared/snapshot_text.h"
#include "standby/snapshot_check.h"

static const char extension_query[] =
"SELECT s.in_recovery, s.overflowed, s.has_subtransactions"
" FROM " PARDUMP_EXPORTED_SNAPSHOT "($1::pg_catalog.text) s";

/* Without the privilege even a query that does not call it would fail. */
static const char may_read_query[] =
"SELECT pg_catalog.has_function_privilege('pg_catalog.pg_read_file(pg_catalog.text,"
" pg_catalog.int8, pg_catalog.int8, pg_catalog.bool)', 'EXECUTE')";

/* The server allocates them; a line has 15 bytes, a session 65 lines. */
#define MOST_BYTES "33554432"

/* No row if there is no such file. */
static const char file_query[] =
"SELECT f.text FROM pg_catalog.pg_read_file('pg_snapshots/' OPERATOR(pg_catalog.||)"
" $1::pg_catalog.text, 0, " MOST_BYTES ", true) f (text) WHERE f.text IS NOT NULL";

static SnapshotState
check_by_extension(PGconn *conn, const char *snapshot)
{
	PGresult   *res = session_query_params(conn, extension_query, 1, &snapshot, 0);
	bool		incomplete = PQgetvalue(res, 0, 0)[0] == 't' &&
		PQgetvalue(res, 0, 1)[0] == 't' && PQgetvalue(res, 0, 2)[0] != 't';

	PQclear(res);
	return incomplete ? SNAPSHOT_INCOMPLETE : SNAPSHOT_COMPLETE;
}

static SnapshotState
check_file(PGconn *conn, const char *snapshot)
{
	PGresult   *res = session_query_params(conn, file_query, 1, &snapshot, 0);
	SnapshotText text;
	const char *problem;

	if (PQntuples(res) != 1)
		pg_fatal("snapshot \"%s\" does not exist", snapshot);
	problem = snapshot_text_read(&text, PQgetvalue(res, 0, 0),
								 PQgetlength(res, 0, 0));
	if (problem)
	{
		pg_log_error("invalid file of exported snapshot \"%s\"", snapshot);
		pg_log_error_detail("The line \"%s\" is missing or invalid.", problem);
		exit(1);
	}
	PQclear(res);
	return snapshot_text_is_incomplete(&text) ? SNAPSHOT_INCOMPLETE :
		SNAPSHOT_COMPLETE;
}

static bool
may_read_file(PGconn *conn)
{
	PGresult   *res = session_query(conn, may_read_query);
	bool		result = PQgetvalue(res, 0, 0)[0] == 't';

	PQclear(res);
	return result;
}

SnapshotState
snapshot_check(PGconn *conn, const char *snapshot, bool has_extension)
{
	/* else it would be another file's path */
	if (!snapshot_text_is_id(snapshot))
		pg_fatal("invalid snapshot identifier: \"%s\"",
				 printable(pg_strdup(snapshot)));
	if (has_extension)
		return check_by_extension(conn, snapshot);
	return may_read_file(conn) ? check_file(conn, snapshot) :
		SNAPSHOT_UNREADABLE;
}
