/*
 * cluster_snapshot.c
 *		--cluster-snapshot: one snapshot for all databases of a cluster.
 *
 * The order of these steps decides whether rows are lost.
 * cluster_snapshot_prepare() and cluster_snapshot_take_and_lock() contain all
 * of them:
 *
 * First, a guard in each database of the list begins its transaction and
 * takes its snapshot, and has answered.
 *
 * Second, the caller's session takes the snapshot that all are to have, and
 * exports it.  If it shows a database that was not on the list, that database
 * has no guard, and all steps are repeated.
 *
 * Third, each guard adopts the snapshot, and exports it in its database.  The
 * server checks that the guard's own one is the older one.
 *
 * Fourth, a session in each database imports it, and reads which tables there
 * are; the guard locks these, so that they stay as the snapshot sees them.
 * What changed before is found by the run of the database, which compares its
 * tables with the snapshot.
 *
 * In a pause of a standby's replay, the second and the third step are one:
 * the snapshots of all sessions are equal.
 *
 * pg_dumpall, which reads roles and tablespaces, cannot import a snapshot.
 * So the caller reads them before and after the snapshot is taken, and
 * compares both results.
 */
#include "base/fe_compat.h"

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/units.h"
#include "cluster/cluster_snapshot.h"
#include "session/session_settings.h"
#include "session/snapshot.h"
#include "session/table_lock.h"
#include "source/leader_session.h"
#include "source/standby_overflow.h"

/*
 * How many times all steps are tried, if databases are created or dropped, or
 * guards are lost.
 */
#define TRIES 5
#define TRY_US 200000

/* How long a session that may be lost may take to answer. */
#define ANSWER_MS 15000

/* How often to check the guards. */
#define LOOK_MS 1000

typedef struct Guard
{
	const ClusterDatabase *database;
	ServerExtension *extension;
	PGconn	   *conn;			/* NULL after its run has ended */
	int			backend;		/* the server process of the session */
	char	   *snapshot;		/* name of its exported snapshot */
	char	   *last_words;		/* the error with which the server ended it,
								 * or NULL */
	bool		is_lost;		/* lost before the run of its database */
	bool		has_run;		/* the run of its database has begun */
} Guard;

struct ClusterSnapshot
{
	const Options *options;
	const PeerAddress *address;
	PGconn	   *conn;			/* the caller's session */
	ClusterList *list;
	ClusterFilter **filter;
	ServerExtension *extension; /* in the database of conn */
	ClusterList known;			/* all databases, listed before the guards
								 * were opened */
	bool		by_pause;		/* does it pause replay on a standby? */
	Standbys   *standbys;		/* the standby to pause; or NULL */
	Guard	   *guards;			/* by database */
	int			n_guards;
	PGconn	   *reader;			/* a session that reads the tables of one
								 * database; or NULL */
	int			lock_wait_ms;
	char	   *identity;		/* identity of the snapshot, see snapshot.h */
	bool		must_repeat;	/* the snapshot sees other databases than the
								 * list */
	bool		is_renamed;		/* the name of a database leads to another */
	SnapshotRecord *record;
	int64		looked_at;
};

/* ----------
 * Sessions
 * ----------
 */

/* Open another session in a database of the list. */
static void
open_session(ClusterSnapshot *snapshot, const ClusterDatabase *database,
			 PGconn **conn)
{
	PeerAddress there = *snapshot->address;

	there.private_conninfo = cluster_list_conninfo(snapshot->address, database->name);
	*conn = connection_open_peer(&there, "pg_pardump");
	interrupt_set_connection(*conn);
	interrupt_check();
	leader_watchdog_watch(*conn, snapshot->address, snapshot->options);

	/*
	 * Names of tables are treated as bytes, because their encodings differ.
	 */
	session_set_up(*conn, snapshot->options, "SQL_ASCII");
	free(there.private_conninfo);
}

/* Close all guards, because the next attempt needs their connections. */
static void
close_guards(ClusterSnapshot *snapshot)
{
	interrupt_set_connection(NULL);
	if (snapshot->reader)
		session_close_and_wait(snapshot->reader);
	snapshot->reader = NULL;
	for (int i = 0; i < snapshot->n_guards; i++)
		if (snapshot->guards[i].conn)
			session_close_and_wait(snapshot->guards[i].conn);
	snapshot->n_guards = 0;
}

/*
 * An exit callback: close connections properly, so that the server does not
 * log lost ones.
 */
static void
cluster_snapshot_close(void *arg)
{
	ClusterSnapshot *snapshot = arg;

	for (int i = 0; i < snapshot->n_guards; i++)
		PQfinish(snapshot->guards[i].conn);
	PQfinish(snapshot->reader);
	snapshot->n_guards = 0;
	snapshot->reader = NULL;
}

/* ----------
 * Guards
 * ----------
 */

/*
 * A PQnoticeReceiver, which also gets an error that the server sends to an
 * idle session.
 */
static void
guard_receive_notice(void *arg, const PGresult *res)
{
	Guard	   *guard = arg;
	const char *severity = PQresultErrorField(res, PG_DIAG_SEVERITY_NONLOCALIZED);

	if (severity && strcmp(severity, "FATAL") == 0)
		guard->last_words = pg_strdup(PQresultErrorMessage(res));
	else
		connection_show_notice(NULL, res);
}

static void
open_guard(ClusterSnapshot *snapshot, Guard *guard)
{
	open_session(snapshot, guard->database, &guard->conn);
	PQsetNoticeReceiver(guard->conn, guard_receive_notice, guard);
	guard->backend = session_backend(guard->conn);

	/*
	 * It must be checked before the snapshot is taken (server_extension.c).
	 */
	guard->extension = server_extension_find(guard->conn, snapshot->options,
											 EXTENSION_ADOPTS);
}

static void
check_database(ClusterSnapshot *snapshot, const Guard *guard)
{
	snapshot->is_renamed = server_database(guard->conn) != guard->database->oid;
	if (snapshot->is_renamed)
		session_lost(psprintf("database \"%s\" was renamed, or dropped and created again",
							  printable(guard->database->name)));
}

/*
 * The database is checked before the transaction, which would otherwise keep
 * a lock on pg_database: VACUUM FULL of that table would wait for it, and all
 * new sessions would wait for VACUUM FULL.  A database with a session is not
 * renamed or dropped.
 *
 * With a pause of replay, the snapshot is taken later.  Otherwise the first
 * query takes it.  The extension is kept from being dropped, as in every
 * session that calls it.
 */
static void
begin_guard(ClusterSnapshot *snapshot, Guard *guard)
{
	interrupt_set_connection(guard->conn);
	check_database(snapshot, guard);
	session_begin(guard->conn, SESSION_BEGIN_READ_ONLY);
	if (snapshot->by_pause)
		return;
	PQclear(session_query(guard->conn, "SELECT 1"));
	server_extension_hold(guard->conn, guard->extension);
}

static bool
extension_is_missing(const ClusterSnapshot *snapshot)
{
	for (int i = 0; i < snapshot->n_guards; i++)
		if (snapshot->guards[i].extension->missing)
			return true;
	return false;
}

/* Exit with a message if a database does not have the extension. */
static void
require_extension(const ClusterSnapshot *snapshot)
{
	int			n_missing = 0;
	bool		is_absent = false;
	bool		is_older = false;

	for (int i = 0; i < snapshot->n_guards; i++)
	{
		const Guard *guard = &snapshot->guards[i];
		const ServerExtension *extension = guard->extension;

		if (extension->missing == NULL)
			continue;
		if (n_missing++ == 0)
			pg_log_error("option %s requires extension pg_pardump in every database",
						 "--cluster-snapshot");
		pg_log_error_detail("Database \"%s\" cannot be dumped with this option.",
							printable(guard->database->name));
		pg_log_error_detail("%s", message_sentence(extension->missing));
		is_absent |= !extension->is_there;
		is_older |= extension->is_older;
	}
	if (n_missing == 0)
		return;
	if (is_absent)
		pg_log_error_hint("Run CREATE EXTENSION pg_pardump in each database without it.");
	if (is_older)
		pg_log_error_hint("Run ALTER EXTENSION pg_pardump UPDATE in each database with an older version.");
	pg_fatal_hint("To leave out databases, use --exclude-database.");
}

static void
open_guards(ClusterSnapshot *snapshot)
{
	snapshot->guards = pg_malloc0((snapshot->list->n + 1) * sizeof(Guard));
	snapshot->n_guards = snapshot->list->n;
	for (int i = 0; i < snapshot->n_guards; i++)
		snapshot->guards[i].database = &snapshot->list->databases[i];
	for (int i = 0; i < snapshot->n_guards; i++)
		open_guard(snapshot, &snapshot->guards[i]);
	snapshot->by_pause = extension_is_missing(snapshot) &&
		session_is_true(snapshot->conn, session_recovery_query);
	for (int i = 0; i < snapshot->n_guards; i++)
		begin_guard(snapshot, &snapshot->guards[i]);
	if (!snapshot->by_pause)
		require_extension(snapshot);
}

/* ----------
 * The snapshot
 * ----------
 */

/* The transaction begins right before it takes the snapshot. */
static const char record_query[] =
"SELECT pg_catalog.pg_current_snapshot(), pg_catalog.to_char("
"pg_catalog.transaction_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')";

/* The name of a WAL file begins with the timeline, in hexadecimal. */
static const char position_query[] =
"SELECT l.lsn, pg_catalog.left(pg_catalog.pg_walfile_name(l.lsn), 8)"
" FROM pg_catalog.pg_current_wal_insert_lsn() l (lsn)";

#define POSITION_FUNCTIONS \
"pg_catalog.pg_current_wal_insert_lsn();pg_catalog.pg_walfile_name(pg_catalog.pg_lsn)"

#define TIMELINE_FUNCTION "pg_catalog.pg_control_checkpoint()"

static void
record_snapshot(ClusterSnapshot *snapshot)
{
	SnapshotRecord *record = pg_malloc0(sizeof(SnapshotRecord));
	PGresult   *res = session_query(snapshot->conn, record_query);

	snapshot->record = record;
	record->snapshot = pg_strdup(PQgetvalue(res, 0, 0));
	record->time = pg_strdup(PQgetvalue(res, 0, 1));
	PQclear(res);
	if (snapshot->standbys)
	{
		record->replay_lsn = snapshot->standbys->lsn;
		record->timeline = psprintf("%d", snapshot->standbys->timeline);
		return;
	}
	if (session_is_true(snapshot->conn, session_recovery_query))
	{
		if (session_may_execute(snapshot->conn, TIMELINE_FUNCTION))
			record->timeline = session_value(snapshot->conn,
											 "SELECT timeline_id FROM " TIMELINE_FUNCTION);
		return;
	}
	if (!session_may_execute(snapshot->conn, POSITION_FUNCTIONS))
		return;
	res = session_query(snapshot->conn, position_query);
	record->lsn = pg_strdup(PQgetvalue(res, 0, 0));
	record->timeline = psprintf("%lu", strtoul(PQgetvalue(res, 0, 1), NULL, 16));
	PQclear(res);
}

static bool
is_listed(const ClusterList *list, const ClusterDatabase *database)
{
	for (int i = 0; i < list->n; i++)
		if (list->databases[i].oid == database->oid &&
			strcmp(list->databases[i].name, database->name) == 0)
			return true;
	return false;
}

/*
 * Does the snapshot see a database that was not known when the guards were
 * opened?  A dropped database had no guard, because otherwise it could not
 * have been dropped.
 */
static bool
list_has_changed(const ClusterSnapshot *snapshot)
{
	ClusterList seen = cluster_list_read_names(snapshot->conn);

	for (int i = 0; i < seen.n; i++)
		if (!is_listed(&snapshot->known, &seen.databases[i]))
			return true;
	for (int i = 0; i < snapshot->list->n; i++)
		if (!is_listed(&seen, &snapshot->list->databases[i]))
			return true;
	return false;
}

/* ----------
 * Adoption
 * ----------
 */
static void
adopt(Guard *guard, const char *id)
{
	PGresult   *res;
	char	   *sql;

	interrupt_set_connection(guard->conn);
	/* the identifier consists of hexadecimal digits and hyphens */
	sql = psprintf("SELECT " PARDUMP_ADOPT_SNAPSHOT "('%s'::pg_catalog.text)", id);
	res = session_exec(guard->conn, sql);
	/* The exporter has ended, or a standby was promoted: try again. */
	if (session_error_is(res, "42704 55000"))
		session_lost(PQresultErrorField(res, PG_DIAG_MESSAGE_PRIMARY));
	if (PQresultStatus(res) != PGRES_TUPLES_OK)
		session_failed(guard->conn, res, "query failed", sql);
	guard->snapshot = pg_strdup(PQgetvalue(res, 0, 0));
	PQclear(res);
}

/*
 * After the guards have their snapshots: take the leader's, which they adopt.
 */
static void
take_and_adopt(ClusterSnapshot *snapshot)
{
	OverflowLook look = standby_overflow_look(snapshot->conn, NULL,
											  snapshot->options,
											  snapshot->extension);
	char	   *id;

	interrupt_set_connection(snapshot->conn);
	id = standby_overflow_begin(&look, NULL);
	for (int i = 0; i < snapshot->n_guards; i++)
		adopt(&snapshot->guards[i], id);
	free(id);
}

/* ----------
 * A paused standby
 *
 * Without the extension, snapshots on a standby are equal if nothing was
 * replayed between the first and the last one, because only replay begins and
 * ends transactions there.  All sessions take their snapshots in a pause of
 * replay.  If replay is at another position afterwards, there is another
 * pause (source/standby.h).  If a session is lost meanwhile, replay is
 * resumed before all steps are repeated.
 * ----------
 */
static const char export_query[] = "SELECT pg_catalog.pg_export_snapshot()";

/* Send the queries of all guards at once, so that the pause is short. */
static void
take_by_guards(void *arg)
{
	ClusterSnapshot *snapshot = arg;

	for (int i = 0; i < snapshot->n_guards; i++)
		if (!PQsendQuery(snapshot->guards[i].conn, export_query))
			session_failed(snapshot->guards[i].conn, NULL, "query failed",
						   export_query);
	for (int i = 0; i < snapshot->n_guards; i++)
	{
		Guard	   *guard = &snapshot->guards[i];
		PGresult   *res = session_wait_result(guard->conn, STANDBY_PAUSE_MS);

		if (res == NULL)
			session_lost(psprintf("the server did not respond within %d s",
								  STANDBY_PAUSE_MS / 1000));
		if (PQresultStatus(res) != PGRES_TUPLES_OK)
			session_failed(guard->conn, res, "query failed", export_query);
		guard->snapshot = pg_strdup(PQgetvalue(res, 0, 0));
		PQclear(res);
	}
}

static void
undo_by_guards(void *arg)
{
	const ClusterSnapshot *snapshot = arg;

	for (int i = 0; i < snapshot->n_guards; i++)
	{
		session_command(snapshot->guards[i].conn, "ROLLBACK");
		session_begin(snapshot->guards[i].conn, SESSION_BEGIN_READ_ONLY);
	}
}

/* Are all snapshots equal to the leader's, as the pause should ensure? */
static bool
guards_agree(const ClusterSnapshot *snapshot, const char *leaders)
{
	char	  **ids = pg_malloc0((snapshot->n_guards + 1) * sizeof(char *));
	char	   *identity = snapshot_identity(snapshot->conn);
	bool		result = true;

	for (int i = 0; i < snapshot->n_guards; i++)
	{
		ids[i] = snapshot->guards[i].snapshot;
		result = result &&
			strcmp(snapshot_identity(snapshot->guards[i].conn), identity) == 0;
	}
	ids[snapshot->n_guards] = unconstify(char *, leaders);
	return result &&
		standby_overflow_are_equal(snapshot->conn, ids, snapshot->n_guards + 1);
}

/*
 * The leader's snapshot is checked before the others are imported, which are
 * equal to it only as far as their files can be read.  So the check must not
 * depend on the extension in the leader's database: the file itself is read,
 * or the version of the server decides.
 */
static ServerExtension no_extension = {.missing = "not all databases have it"};

/* --check and --dry-run only find out whether a snapshot could be taken. */
static bool
only_checks(const Options *options)
{
	return options->dry_run || options->check;
}

/*
 * Take the snapshots during a pause.  After session_lost(), a pause may be
 * left.
 *
 * A session may reuse its last snapshot if no transaction has ended since
 * (procarray.c:GetSnapshotDataReuse()).  If replay has meanwhile assigned
 * subtransactions to a transaction, other sessions list them in another way,
 * and the texts of the snapshots differ.
 */
static void
cluster_snapshot_pause(void *arg)
{
	ClusterSnapshot *snapshot = arg;
	const Options *options = snapshot->options;
	Standbys   *standbys = standby_open(options, snapshot->conn,
										snapshot->address, "--cluster-snapshot");
	OverflowLook look = standby_overflow_look(snapshot->conn, NULL, options,
											  &no_extension);
	StandbyOthers others = {take_by_guards, undo_by_guards, snapshot};

	snapshot->standbys = standbys;
	standby_check(standbys);
	findings_require();
	if (only_checks(options))
	{
		(void) standby_overflow_wait(&look, 1);
		return;
	}
	standby_snapshot_take(standbys, &no_extension, &others);
	if (!guards_agree(snapshot, standbys->list[0].snapshot))
		session_lost(psprintf("sessions have different snapshots, although replay of standby \"%s\" was paused",
							  standbys->list[0].name));
}

/* Returns the reason for another attempt, or NULL.  Replay is not paused. */
static char *
take_in_pause(ClusterSnapshot *snapshot)
{
	char	   *cause = session_try(cluster_snapshot_pause, snapshot);

	if (snapshot->standbys)
		standby_snapshot_end_pauses(snapshot->standbys);
	return cause;
}

/* ----------
 * Locks
 * ----------
 */

/*
 * The tables that pg_dump may lock, and that still exist with these names;
 * the run of the database reports changes of others.  to_regclass() uses the
 * current catalogs.
 */
static const char tables_query[] =
"SELECT t.name FROM (SELECT c.oid, n.oid AS schema,"
" pg_catalog.format('%I.%I', n.nspname, c.relname) AS name"
" FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n"
" ON n.oid OPERATOR(pg_catalog.=) c.relnamespace"
" WHERE c.relkind IN ('r', 'p') AND c.relpersistence OPERATOR(pg_catalog.<>) 't'"
" AND c.oid OPERATOR(pg_catalog.>=) 16384::pg_catalog.oid) t"
" WHERE CASE WHEN pg_catalog.has_schema_privilege(t.schema, 'USAGE')"
" AND pg_catalog.has_table_privilege(t.oid, 'SELECT')"
" THEN pg_catalog.to_regclass(t.name) OPERATOR(pg_catalog.=) t.oid END"
" ORDER BY t.oid";

/*
 * Read the tables in a session that has imported the snapshot; *n is their
 * number.
 */
static char **
read_tables(ClusterSnapshot *snapshot, const Guard *guard, int *n)
{
	PGresult   *res;
	char	  **tables;

	open_session(snapshot, guard->database, &snapshot->reader);
	if (!snapshot_try_import(snapshot->reader, guard->snapshot,
							 snapshot->identity))
		session_lost("the session that keeps the snapshot of a database was lost");
	res = session_query(snapshot->reader, tables_query);
	*n = PQntuples(res);
	tables = pg_malloc0((*n + 1) * sizeof(char *));
	for (int i = 0; i < *n; i++)
		tables[i] = pg_strdup(PQgetvalue(res, i, 0));
	PQclear(res);
	cluster_session_close(snapshot->reader);
	snapshot->reader = NULL;
	return tables;
}

/*
 * Lock the tables of a database, so that they do not change until its run.
 * The run of the database waits for tables that cannot be locked now, or
 * reports them.
 */
static void
lock_database(ClusterSnapshot *snapshot, Guard *guard, int64 *room)
{
	int			n;
	char	  **tables = read_tables(snapshot, guard, &n);
	char	   *problem;

	interrupt_set_connection(guard->conn);
	if (n > *room)
		problem = psprintf(ngettext("The database has %d table, and half of the server's lock table has room for " INT64_FORMAT " more.",
									"The database has %d tables, and half of the server's lock table has room for " INT64_FORMAT " more.",
									n), n, *room);
	else
		problem = table_lock_attempt(guard->conn, tables, n,
									 snapshot->lock_wait_ms);
	if (problem == NULL)
	{
		*room -= n;
		return;
	}
	pg_log_warning("could not lock the tables of database \"%s\" in advance",
				   printable(guard->database->name));
	pg_log_warning_detail("%s", message_sentence(problem));
	pg_log_warning_detail("The tables will be locked when the database is dumped; if one of them is changed before, the dump of this database fails.");
	pg_log_warning_hint("Until this database has been dumped, do not run commands in it that change or rewrite tables, for example ALTER TABLE or TRUNCATE.");
}

/*
 * Are tables locked early?  Not with options that select tables, because the
 * other tables must not cause a wait.
 */
static bool
locks_early(const Options *options)
{
	return !options->lock_later && !options->selects_tables;
}

static void
lock_tables(ClusterSnapshot *snapshot)
{
	char	   *text;
	int64		room;

	if (!locks_early(snapshot->options))
		return;

	/*
	 * Half of the lock table is left to others, including the runs
	 * themselves: a server without room for another lock refuses statements
	 * of all sessions.
	 */
	text = session_value(snapshot->conn, "SELECT " TABLE_LOCK_ROOM_SQL);
	room = atoll(text) / 2;
	for (int i = 0; i < snapshot->n_guards; i++)
		lock_database(snapshot, &snapshot->guards[i], &room);
}

/* ----------
 * All steps
 * ----------
 */

/*
 * CREATE DATABASE fails while a session is connected to its template, so
 * templates come first; otherwise the order stays.
 */
static void
put_templates_first(ClusterList *list)
{
	ClusterDatabase *sorted = pg_malloc((list->n + 1) * sizeof(ClusterDatabase));
	int			n = 0;

	for (int pass = 0; pass < 2; pass++)
		for (int i = 0; i < list->n; i++)
			if (list->databases[i].is_template == (pass == 0))
				sorted[n++] = list->databases[i];
	memcpy(list->databases, sorted, n * sizeof(ClusterDatabase));
	free(sorted);
}

/* Returns no row if the setting is off, or does not exist (from 17 on). */
static const char threshold_query[] =
"SELECT pg_catalog.current_setting(s.name) FROM pg_catalog.pg_settings s"
" WHERE s.name OPERATOR(pg_catalog.=) 'old_snapshot_threshold'"
" AND s.setting OPERATOR(pg_catalog.<>) '-1'";

/* The extension also refuses this, but only after the guards were opened. */
static void
check_threshold(PGconn *conn)
{
	PGresult   *res = session_query(conn, threshold_query);

	if (PQntuples(res) > 0)
	{
		pg_log_error("option %s cannot be used while old_snapshot_threshold is %s",
					 "--cluster-snapshot", PQgetvalue(res, 0, 0));
		pg_log_error_detail("The server might remove rows that the snapshot sees.");
		pg_log_error_hint("Set old_snapshot_threshold to -1 and restart the server.");
	}
	PQclear(res);
}

/*
 * Open the guards, which take their snapshots unless replay will be paused.
 * After session_lost(), everything must be closed, also in the next function.
 */
static void
cluster_snapshot_prepare(void *arg)
{
	ClusterSnapshot *snapshot = arg;
	const Options *options = snapshot->options;

	snapshot->standbys = NULL;
	snapshot->known = cluster_list_read_names(snapshot->conn);

	/*
	 * The list is read last, so that a database created in between causes
	 * another attempt.
	 */
	*snapshot->list = cluster_list_read(snapshot->conn, options);
	*snapshot->filter = cluster_filter_read(snapshot->conn, snapshot->address,
											snapshot->list, options);
	check_threshold(snapshot->conn);
	cluster_check_source(snapshot->conn, options, snapshot->list);
	findings_require();
	put_templates_first(snapshot->list);
	open_guards(snapshot);
	interrupt_set_connection(snapshot->conn);
}

/*
 * Take the snapshot, and lock tables.  Sets must_repeat if databases were
 * created or dropped.
 */
static void
cluster_snapshot_take_and_lock(void *arg)
{
	ClusterSnapshot *snapshot = arg;

	if (!snapshot->by_pause)
		take_and_adopt(snapshot);
	interrupt_set_connection(snapshot->conn);
	record_snapshot(snapshot);
	snapshot->identity = snapshot_identity(snapshot->conn);
	snapshot->must_repeat = list_has_changed(snapshot);
	session_command(snapshot->conn, "COMMIT");
	if (!snapshot->must_repeat)
		lock_tables(snapshot);
	interrupt_set_connection(snapshot->conn);
}

static void
cluster_snapshot_reopen_leader(void *arg)
{
	ClusterSnapshot *snapshot = arg;

	snapshot->conn = cluster_session_open_again(snapshot->address, "pg_pardump");
	leader_watchdog_watch(snapshot->conn, snapshot->address, snapshot->options);
}

/*
 * End the transaction of the leader's session.  Returns whether the session
 * still answers.
 */
static bool
leader_is_there(const ClusterSnapshot *snapshot)
{
	PGconn	   *conn = snapshot->conn;

	if (PQtransactionStatus(conn) != PQTRANS_IDLE)
		PQclear(session_exec_within(conn, "ROLLBACK", ANSWER_MS));
	return PQtransactionStatus(conn) == PQTRANS_IDLE && session_answers(conn);
}

/*
 * Open another session for the leader, whose session may have been lost, for
 * example with the whole server after a crash.
 */
static void
reopen_leader(ClusterSnapshot *snapshot)
{
	Retry		retry = {0};
	char	   *cause;

	for (;;)
	{
		interrupt_set_connection(NULL);
		session_close_and_wait(snapshot->conn);
		snapshot->conn = NULL;
		cause = session_try(cluster_snapshot_reopen_leader, snapshot);
		interrupt_check();
		if (cause == NULL)
			return;
		if (retry.n == (int) snapshot->options->retries)
		{
			pg_log_error("could not connect to the server again");
			pg_log_error_detail("%s", message_sentence(cause));
			pg_fatal_hint("Check the server and the network, and run the same command again.");
		}
		free(cause);
		pg_usleep(retry_later(&retry) * 1000L);
	}
}

ClusterSnapshot *
cluster_snapshot_take(PGconn **conn, const PeerAddress *address,
					  ClusterList *list, ClusterFilter **filter,
					  const Options *options)
{
	/* an exit callback uses it until the process ends */
	ClusterSnapshot *snapshot = pg_malloc0(sizeof(ClusterSnapshot));

	snapshot->options = options;
	snapshot->address = address;
	snapshot->conn = *conn;
	snapshot->list = list;
	snapshot->filter = filter;
	snapshot->lock_wait_ms = table_lock_wait_ms(*conn, options);
	snapshot->extension = server_extension_find(*conn, options, EXTENSION_READS);
	cleanup_push(cluster_snapshot_close, snapshot);
	for (int n = 1;; n++)
	{
		char	   *cause = session_try(cluster_snapshot_prepare, snapshot);
		bool		by_names;

		if (cause == NULL && snapshot->by_pause)
			cause = take_in_pause(snapshot);
		if (cause == NULL && snapshot->by_pause && only_checks(options))
			break;
		if (cause == NULL)
			cause = session_try(cluster_snapshot_take_and_lock, snapshot);
		interrupt_check();
		if (cause == NULL && !snapshot->must_repeat)
			break;
		by_names = cause == NULL || snapshot->is_renamed;
		if (cause == NULL)
			cause = pg_strdup("databases were created, dropped or renamed");
		if (n == TRIES)
		{
			pg_log_error("could not take a snapshot of all databases");
			pg_log_error_detail("%s", message_sentence(cause));
			pg_log_error_detail("Number of attempts: %d.", n);
			pg_fatal_hint(by_names ?
						  "Run the same command again while no databases are created, dropped or renamed." :
						  "Fix the cause, and run the same command again.");
		}
		pg_log_info("taking the snapshot of all databases again");
		pg_log_info_detail("%s", message_sentence(cause));
		free(cause);
		snapshot->is_renamed = false;
		close_guards(snapshot);
		pg_usleep(TRY_US);

		/*
		 * On a standby, a session may reuse its last snapshot until the next
		 * transaction has ended, and guards would refuse it again.
		 */
		reopen_leader(snapshot);
	}
	/* The caller needs a session, and this one may be lost. */
	interrupt_set_connection(snapshot->conn);
	if (!leader_is_there(snapshot))
		reopen_leader(snapshot);
	*conn = snapshot->conn;
	snapshot->looked_at = clock_monotonic_ms();
	return snapshot;
}

SnapshotRecord *
cluster_snapshot_record(const ClusterSnapshot *snapshot)
{
	return snapshot->record;
}

char *
cluster_snapshot_name(const ClusterSnapshot *snapshot, int no)
{
	return snapshot->guards[no].snapshot;
}

int
cluster_snapshot_backend(const ClusterSnapshot *snapshot, int no)
{
	return snapshot->guards[no].backend;
}

char *
cluster_snapshot_identity(const ClusterSnapshot *snapshot)
{
	return snapshot->identity;
}

/* ----------
 * During the runs
 * ----------
 */

/*
 * In a child: only close the descriptors of the guards' connections, of which
 * there may be many, because the connections belong to the parent.
 */
void
cluster_snapshot_add_args(const ClusterSnapshot *snapshot, int no,
						  SimpleStringList *args)
{
	const Guard *guard = &snapshot->guards[no];

	if (guard->is_lost)
	{
		pg_log_error("the session that kept the snapshot in database \"%s\" was lost",
					 printable(guard->database->name));
		pg_fatal_detail("No other session can replace it, because rows that the snapshot sees might have been removed.");
	}
	for (int i = 0; i < snapshot->n_guards; i++)
		if (snapshot->guards[i].conn)
			close(PQsocket(snapshot->guards[i].conn));
	snapshot_expect(snapshot->identity, guard->backend);
	manifest_expect_snapshot(cluster_snapshot_record(snapshot));
	simple_string_list_append(args, psprintf("--snapshot=%s", guard->snapshot));

	/*
	 * By default pg_dump waits for its locks without a limit.  Behind a
	 * statement that waits for the guard's locks, and so for the end of this
	 * run, the wait would never end.
	 */
	if (locks_early(snapshot->options))
		simple_string_list_append(args, psprintf("--lock-wait-timeout=%d",
												 snapshot->lock_wait_ms));
}

static void
look_at(Guard *guard)
{
	if (!session_has_ended(guard->conn) && !guard->last_words)
		return;
	guard->is_lost = true;
	pg_log_warning("the session that keeps the snapshot in database \"%s\" was lost",
				   printable(guard->database->name));
	pg_log_warning_detail("%s", message_sentence(guard->last_words ? guard->last_words :
												 PQerrorMessage(guard->conn)));
}

void
cluster_snapshot_attend(ClusterSnapshot *snapshot)
{
	if (clock_monotonic_ms() < snapshot->looked_at + LOOK_MS)
		return;
	for (int i = 0; i < snapshot->n_guards; i++)
		if (!snapshot->guards[i].has_run && !snapshot->guards[i].is_lost)
			look_at(&snapshot->guards[i]);
	snapshot->looked_at = clock_monotonic_ms();
}

bool
cluster_snapshot_is_kept(ClusterSnapshot *snapshot)
{
	for (int i = 0; i < snapshot->n_guards; i++)
	{
		look_at(&snapshot->guards[i]);
		if (snapshot->guards[i].is_lost)
			return false;
	}
	return true;
}

void
cluster_snapshot_begin_run(ClusterSnapshot *snapshot, int no)
{
	Guard	   *guard = &snapshot->guards[no];

	if (guard->conn && !guard->is_lost)
		look_at(guard);
	guard->has_run = true;
}

void
cluster_snapshot_end_run(ClusterSnapshot *snapshot, int no)
{
	Guard	   *guard = &snapshot->guards[no];

	guard->has_run = true;
	PQfinish(guard->conn);
	guard->conn = NULL;
}

void
cluster_snapshot_end(ClusterSnapshot *snapshot)
{
	if (snapshot == NULL)
		return;
	for (int i = 0; i < snapshot->n_guards; i++)
		cluster_snapshot_end_run(snapshot, i);

	/* The exit callback stays, because others were added after it. */
	cluster_snapshot_close(snapshot);
}
