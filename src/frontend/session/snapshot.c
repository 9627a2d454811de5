/*
 * snapshot.c
 *		Exports and imports snapshots, so that the transactions of several
 *		sessions see the same rows.
 */
#include "base/fe_compat.h"

#include "session/session.h"
#include "session/session_lost.h"
#include "session/snapshot.h"

/*
 * The first release of each major that exports correct snapshots during
 * recovery and for new replication slots.  15.20 and 17.12 were tried; the
 * others are from the release notes.  Later majors had the fix in their first
 * release, earlier ones have no such release.
 */
static const int fixed_versions[] = {140025, 150020, 160016, 170012, 180007};

#define FIRST_FIXED_MAJOR 19

/*
 * Import a snapshot.  Returns false if may_be_gone is true and the export
 * does not exist or has ended: 22023 invalid_parameter_value (42704
 * undefined_object from 17 on), 55000 object_not_in_prerequisite_state
 * (snapmgr.c:ImportSnapshot, procarray.c:ProcArrayInstallImportedXmin).  Any
 * other error would be the same in any other session, so it ends the program.
 */
static bool
import_snapshot(PGconn *conn, const char *snapshot, bool may_be_gone)
{
	char	   *sql = psprintf("SET TRANSACTION SNAPSHOT %s",
							   session_literal(conn, snapshot));
	PGresult   *res = session_exec(conn, sql);
	bool		done = PQresultStatus(res) == PGRES_COMMAND_OK;

	if (!done && !(may_be_gone && session_error_is(res, "22023 42704 55000")))
		session_failed(conn, res, "query failed", sql);
	PQclear(res);
	return done;
}

char *
snapshot_export(PGconn *conn)
{
	return session_value(conn, "SELECT pg_catalog.pg_export_snapshot()");
}

/* See snapshot_expect(). */
static const char *expected_identity = NULL;
static int	expected_exporter;

void
snapshot_expect(const char *identity, int exporter)
{
	expected_identity = identity;
	expected_exporter = exporter;
}

char *
snapshot_begin_leader(PGconn *conn, const Options *options, const char *import)
{
	/*
	 * An imported snapshot cannot be made safe afterwards.  pg_dump ignores
	 * the option in this case, too.
	 */
	if (options->serializable_deferrable && import == NULL)
		session_begin(conn, "BEGIN; SET TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ ONLY, DEFERRABLE");
	else
		session_begin(conn, SESSION_BEGIN_READ_ONLY);
	if (import)
		(void) import_snapshot(conn, import, false);
	if (import && expected_identity &&
		strcmp(snapshot_identity(conn), expected_identity) != 0)
	{
		pg_log_error("snapshot \"%s\" is not the one that was taken for all databases",
					 import);
		pg_log_error_detail("The standby was promoted, or the server was restarted and another session has exported a snapshot of the same name.");
		pg_fatal_hint("Take the snapshot of all databases again.");
	}

	/*
	 * Export an imported snapshot, too, because its exporter may end before
	 * this run.
	 */
	return snapshot_export(conn);
}

char *
snapshot_identity(PGconn *conn)
{
	PGresult   *res = session_query(conn, session_self_query);
	char	   *identity = psprintf("%s %s%s", PQgetvalue(res, 0, SELF_SERVER_START),
									PQgetvalue(res, 0, SELF_SNAPSHOT),
									result_is_true(res, 0, SELF_IN_RECOVERY) ?
									" in recovery" : "");

	PQclear(res);
	return identity;
}

bool
snapshot_try_import(PGconn *conn, const char *snapshot, const char *identity)
{
	session_begin(conn, SESSION_BEGIN_READ_ONLY);

	/*
	 * After a restart the server uses the names of snapshots again, so the
	 * name may belong to another program's snapshot.  After a promotion the
	 * identity differs, too.
	 */
	if (import_snapshot(conn, snapshot, true) &&
		strcmp(snapshot_identity(conn), identity) == 0)
		return true;
	session_command(conn, "ROLLBACK");
	return false;
}

/*
 * The name of a snapshot begins with the virtual transaction ID of the
 * exporter, in hexadecimal (snapmgr.c:ExportSnapshot(); before 10 no standby
 * could export).  While that transaction runs, it holds a lock on this ID,
 * and all roles may read pg_locks.  The server does not use the same ID again
 * before it is restarted, which ends the leader's session, too.
 */
char *
snapshot_exporter_query(PGconn *conn, const char *snapshot)
{
	unsigned int backend;
	unsigned int xid;

	/* The import refuses names of any other form. */
	if (!(expected_identity || session_is_true(conn, session_recovery_query)) ||
		sscanf(snapshot, "%8X-%8X-", &backend, &xid) != 2)
		return NULL;
	return psprintf("SELECT 1 FROM pg_catalog.pg_locks"
					" WHERE locktype OPERATOR(pg_catalog.=) 'virtualxid'"
					" AND granted AND virtualxid OPERATOR(pg_catalog.=) '%u/%u'"
					" AND virtualtransaction OPERATOR(pg_catalog.=) virtualxid%s",
					backend, xid,
					expected_identity ?
					psprintf(" AND pid OPERATOR(pg_catalog.=) %d", expected_exporter) : "");
}

bool
snapshot_is_fixed(int version)
{
	if (version / 10000 >= FIRST_FIXED_MAJOR)
		return true;
	for (int i = 0; i < (int) lengthof(fixed_versions); i++)
		if (version / 10000 == fixed_versions[i] / 10000)
			return version >= fixed_versions[i];
	return false;
}

char *
snapshot_fixed_release(int version)
{
	for (int i = 0; i < (int) lengthof(fixed_versions); i++)
		if (version / 10000 == fixed_versions[i] / 10000)
			return psprintf("%d.%d", fixed_versions[i] / 10000,
							fixed_versions[i] % 10000);
	return NULL;
}
