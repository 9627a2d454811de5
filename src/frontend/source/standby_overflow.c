/*
 * standby_overflow.c
 *		Takes complete snapshots of hot standbys: snapshots that include all
 *		running transactions.
 *
 * standby_overflow.h explains why a snapshot can be incomplete, and why it
 * must not be imported then.
 */
#include "base/fe_compat.h"

#include "base/clock.h"
#include "base/interrupt.h"
#include "session/session_lost.h"
#include "session/snapshot.h"
#include "shared/snapshot_text.h"
#include "source/standby_overflow.h"

/*
 * The pause between two attempts, which cost a standby some short queries
 * each.
 */
#define WAIT_MS 100

typedef enum SnapshotState
{
	SNAPSHOT_COMPLETE,
	SNAPSHOT_OF_RECOVERY,		/* complete, and taken on a standby */
	SNAPSHOT_INCOMPLETE,		/* must not be imported */
	SNAPSHOT_UNREADABLE			/* the role cannot read the file */
} SnapshotState;

/* ----------
 * The file of a snapshot
 * ----------
 */
static const char extension_query[] =
"SELECT s.in_recovery, s.overflowed, s.has_subtransactions"
" FROM " PARDUMP_EXPORTED_SNAPSHOT "($1::pg_catalog.text) s";

/*
 * Ask for the privilege first: without it, a query that contains the function
 * fails even if it does not call it.
 */
#define READ_FUNCTION "pg_catalog.pg_read_file(pg_catalog.text," \
	" pg_catalog.int8, pg_catalog.int8, pg_catalog.bool)"

/*
 * The server allocates this many bytes.  A line has 15 bytes, and a session
 * at most 65 lines.
 */
#define MOST_BYTES "33554432"

/* Reads the file.  Returns no row if it does not exist. */
static const char file_query[] =
"SELECT f.text FROM pg_catalog.pg_read_file('pg_snapshots/' OPERATOR(pg_catalog.||)"
" $1::pg_catalog.text, 0, " MOST_BYTES ", true) f (text) WHERE f.text IS NOT NULL";

/*
 * The number of different contents of the files, and whether all files exist.
 * The lines before "xmin:" describe the exporter
 * (snapmgr.c:ExportSnapshot()), so they are not compared.
 */
static const char contents_query[] =
"SELECT pg_catalog.count(DISTINCT pg_catalog.substr(f.text, pg_catalog.strpos(f.text, 'xmin:'))),"
" pg_catalog.bool_and(f.text IS NOT NULL)"
" FROM pg_catalog.unnest($1::pg_catalog.text[]) s (id),"
" LATERAL (SELECT pg_catalog.pg_read_file('pg_snapshots/' OPERATOR(pg_catalog.||) s.id,"
" 0, " MOST_BYTES ", true)) f (text)";

bool
standby_overflow_are_equal(PGconn *conn, char *const *snapshots, int n)
{
	const char *params[1];
	PGresult   *res;
	bool		result;

	if (!session_may_execute(conn, READ_FUNCTION))
		return true;
	params[0] = text_array(conn, snapshots, n);
	res = session_query_params(conn, contents_query, 1, params, 0);
	if (!result_is_true(res, 0, 1))
		session_lost("a session that exported a snapshot was lost");
	result = strcmp(PQgetvalue(res, 0, 0), "1") == 0;
	PQclear(res);
	return result;
}

static SnapshotState
check_by_extension(PGconn *conn, const char *snapshot)
{
	PGresult   *res = session_query_params(conn, extension_query, 1, &snapshot, 0);
	bool		in_recovery = result_is_true(res, 0, 0);
	bool		incomplete = in_recovery &&
		result_is_true(res, 0, 1) && !result_is_true(res, 0, 2);

	PQclear(res);
	return incomplete ? SNAPSHOT_INCOMPLETE :
		in_recovery ? SNAPSHOT_OF_RECOVERY : SNAPSHOT_COMPLETE;
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
		pg_log_error("could not read the file of exported snapshot \"%s\"", snapshot);
		pg_log_error_detail("The line \"%s\" is missing or invalid.", problem);
		pg_fatal_hint("If the server is newer than this release of pg_pardump, update pg_pardump.");
	}
	PQclear(res);
	return snapshot_text_is_incomplete(&text) ? SNAPSHOT_INCOMPLETE :
		text.in_recovery ? SNAPSHOT_OF_RECOVERY : SNAPSHOT_COMPLETE;
}

/*
 * Check a snapshot that is still exported; if has_extension is true with the
 * extension, which the transaction of conn keeps from being dropped.  Exits
 * with a message if there is no such snapshot.
 */
static SnapshotState
snapshot_state(PGconn *conn, const char *snapshot, bool has_extension)
{
	/*
	 * The name becomes part of a path, so it must not lead to another file.
	 */
	if (!snapshot_text_is_id(snapshot))
		pg_fatal("invalid snapshot identifier: \"%s\"",
				 printable(pg_strdup(snapshot)));
	if (has_extension)
		return check_by_extension(conn, snapshot);
	return session_may_execute(conn, READ_FUNCTION) ?
		check_file(conn, snapshot) : SNAPSHOT_UNREADABLE;
}

/* ----------
 * A server
 * ----------
 */
OverflowLook
standby_overflow_look(PGconn *conn, const Standby *standby,
					  const Options *options, ServerExtension *extension)
{
	OverflowLook look = {
		.conn = conn,
		.standby = standby,
		.options = options,
		.extension = extension,
		.left_ms = (int64) options->standby_snapshot_timeout * 1000,
	};

	return look;
}

/*
 * The last sentence of a DETAIL, about the server's version; owned.  The file
 * decides, so even a server whose version has the fix may be refused.
 */
static char *
fixed_words(PGconn *conn)
{
	int			version = PQserverVersion(conn);
	const char *name = PQparameterStatus(conn, "server_version");
	char	   *release = snapshot_fixed_release(version);

	if (snapshot_is_fixed(version))
		return psprintf("The server has version %s, which should have the fix of this bug, but the file of its snapshot shows the bug.",
						name);
	if (release)
		return psprintf("The server has version %s; PostgreSQL %s fixes this bug.",
						name, release);
	return psprintf("The server has version %s, and no release of this major version fixes this bug; PostgreSQL 14.25, 15.20, 16.16, 17.12, 18.7 and later major versions fix it.",
					name);
}

/* ----------
 * Servers that cannot be checked
 * ----------
 */

/*
 * The role cannot read the file, so the version of the server decides.
 * Reported once for each server.
 */
static void
judge_version(OverflowLook *look)
{
	char	   *server;
	char	   *fixed;

	if (look->reported || snapshot_is_fixed(PQserverVersion(look->conn)))
		return;
	look->reported = true;
	server = connection_server_name(look->conn);
	fixed = fixed_words(look->conn);
	if (look->options->allow_affected_standby)
	{
		pg_log_warning("could not check whether snapshots of server \"%s\" are complete; rows might be wrong, and the standby might be damaged",
					   server);
		pg_log_warning_detail("Because of a bug, the server might export a snapshot without the running transactions, and the role may not read the file of the snapshot.");
		pg_log_warning_detail("%s", fixed);
		return;
	}
	pg_log_error("could not check whether snapshots of server \"%s\" are complete", server);
	pg_log_error_detail("Because of a bug, the server might export a snapshot without the running transactions; then rows are wrong, and the standby might be damaged.  The role may not read the file of the snapshot.");
	pg_log_error_detail("%s", fixed);
	pg_log_error_hint("Update the standby, or dump the primary.");
	pg_log_error_hint("To check snapshots, run on the primary in database \"%s\", as a superuser: CREATE EXTENSION pg_pardump;",
					  printable(PQdb(look->conn)));
	pg_fatal_hint("Use --allow-affected-standby to dump this standby anyway.");
}

/* ----------
 * One snapshot
 * ----------
 */
static SnapshotState
state_of(OverflowLook *look, const char *snapshot)
{
	/*
	 * Hold the extension in this transaction, so that the function that reads
	 * the file is still the one that was checked.
	 */
	server_extension_hold(look->conn, look->extension);
	if (look->standby && look->extension->missing == NULL)
		standby_check_library(look->standby);
	return snapshot_state(look->conn, snapshot,
						  look->extension->missing == NULL);
}

bool
standby_overflow_is_complete(OverflowLook *look, const char *snapshot)
{
	SnapshotState state = state_of(look, snapshot);

	if (state == SNAPSHOT_UNREADABLE)
		judge_version(look);
	return state != SNAPSHOT_INCOMPLETE;
}

void
standby_overflow_check(PGconn *conn, const ServerExtension *extension,
					   const char *snapshot)
{
	if (snapshot_state(conn, snapshot, extension->missing == NULL) ==
		SNAPSHOT_INCOMPLETE)
	{
		pg_log_error("the standby exported incomplete snapshot \"%s\" during the run",
					 snapshot);
		pg_log_error_detail("It lacks transactions that are running, so rows would be wrong.");
		pg_fatal_hint("Run the same command again, dump the primary, or update the standby.");
	}
}

/* ----------
 * A snapshot that the user, or a replication slot, has given
 * ----------
 */
pg_noreturn static void
refuse_given(const OverflowLook *look, const char *given)
{
	pg_log_error("snapshot \"%s\" lacks the transactions that were running when it was taken",
				 given);
	pg_log_error_detail("The snapshot was not imported.  Rows would be wrong, and the standby would store wrong hint bits in its tables.");
	pg_log_error_detail("%s", fixed_words(look->conn));
	pg_fatal_hint("Export another snapshot when the transactions with many subtransactions have ended, or omit --snapshot.");
}

/* See snapshot_identity(). */
pg_noreturn static void
refuse_given_promoted(const char *given)
{
	pg_log_error("snapshot \"%s\" was taken before the standby was promoted", given);
	pg_log_error_detail("Index entries might be missing for rows that the snapshot sees.");
	pg_fatal_hint("Run the same command again with a new snapshot.");
}

/*
 * Has the server replayed WAL since it was started?  It has if it is a
 * promoted standby, or a primary after a crash.
 * pg_last_xact_replay_timestamp() would not show this if no transaction had
 * ended meanwhile.
 */
static const char replayed_query[] =
"SELECT pg_catalog.pg_last_wal_replay_lsn() IS NOT NULL";

static char *
begin_given(OverflowLook *look, const char *given)
{
	char	   *snapshot;
	bool		in_recovery;
	SnapshotState state;

	/*
	 * Check the snapshot before it is imported.  A snapshot of --snapshot may
	 * have been exported before the server was promoted, so its file is also
	 * read, if that is possible, on servers that are not in recovery.
	 * Otherwise the version decides if there may have been a promotion.
	 */
	in_recovery = session_is_true(look->conn, session_recovery_query);

	/*
	 * Check in a transaction of its own, because an import must be the first
	 * statement of its transaction, and the check needs statements before it.
	 */
	session_begin(look->conn, "BEGIN TRANSACTION READ ONLY");
	state = state_of(look, given);
	session_command(look->conn, "ROLLBACK");
	if (state == SNAPSHOT_INCOMPLETE)
		refuse_given(look, given);
	if (state == SNAPSHOT_OF_RECOVERY && !in_recovery)
		refuse_given_promoted(given);
	if (state == SNAPSHOT_UNREADABLE &&
		(in_recovery ||
		 (look->options->snapshot && session_is_true(look->conn, replayed_query))))
		judge_version(look);
	snapshot = snapshot_begin_leader(look->conn, look->options, given);
	if (state_of(look, snapshot) == SNAPSHOT_INCOMPLETE)
		refuse_given(look, given);
	return snapshot;
}

/* ----------
 * Trying again
 * ----------
 */
pg_noreturn static void
give_up(const OverflowLook *look)
{
	pg_log_error_detail("A transaction on the primary has 64 or more subtransactions, or, with wal_level = logical, has first written in a subtransaction.  Until it and all older transactions have ended, a bug makes the server export snapshots without the running transactions; importing one would damage the standby.");
	pg_log_error_detail("%s", fixed_words(look->conn));
	pg_fatal_hint(snapshot_is_fixed(PQserverVersion(look->conn)) ?
				  "Run the same command again when those transactions have ended (pg_stat_activity on the primary, ORDER BY xact_start); or dump the primary." :
				  "Update the standby; or run the same command again when those transactions have ended (pg_stat_activity on the primary, ORDER BY xact_start); or dump the primary.");
}

void
standby_overflow_give_up_pauses(const OverflowLook *look, int n_pauses)
{
	pg_log_error("could not take a complete snapshot on server \"%s\" in %d pauses of replay",
				 connection_server_name(look->conn), n_pauses);
	give_up(look);
}

/*
 * Begin a transaction with a new snapshot.  Returns NULL, without a
 * transaction, if the snapshot is incomplete.  If the server is not in
 * recovery before the transaction begins, the snapshot is not one of
 * recovery, and needs no check.  If the server is promoted in between, the
 * file shows whether the promotion came first.
 */
static char *
begin_once(OverflowLook *look)
{
	bool		in_recovery = session_is_true(look->conn, session_recovery_query);
	char	   *snapshot = snapshot_begin_leader(look->conn, look->options, NULL);

	look->needs_no_check = !in_recovery;
	if (!in_recovery || standby_overflow_is_complete(look, snapshot))
		return snapshot;
	/* The next attempt needs a new snapshot, and so a new transaction. */
	session_command(look->conn, "ROLLBACK");
	return NULL;
}

/*
 * Wait outside a transaction, until the primary's transactions have ended and
 * this has been replayed.
 */
static void
wait_a_moment(OverflowLook *look)
{
	int64		begin = clock_monotonic_ms();

	if (look->left_ms <= 0)
	{
		pg_log_error("could not take a complete snapshot on server \"%s\" in " UINT64_FORMAT " s (%s)",
					 connection_server_name(look->conn),
					 look->options->standby_snapshot_timeout,
					 "--standby-snapshot-timeout");
		give_up(look);
	}
	interrupt_check();
	pg_usleep(1000L * Min(look->left_ms, WAIT_MS));
	interrupt_check();

	/*
	 * Subtract at least 1, so that the loop ends even if the clock stands
	 * still.
	 */
	look->left_ms -= Max(clock_monotonic_ms() - begin, 1);
}

char *
standby_overflow_begin(OverflowLook *look, const char *given)
{
	char	   *snapshot;
	bool		reported = false;

	if (given)
		return begin_given(look, given);
	while ((snapshot = begin_once(look)) == NULL)
	{
		if (!reported)
			pg_log_info("the snapshot of server \"%s\" lacks running transactions; retrying for up to " INT64_FORMAT " s",
						connection_server_name(look->conn), look->left_ms / 1000);
		reported = true;
		wait_a_moment(look);
	}
	return snapshot;
}

/* Wait for a complete snapshot on one server.  Returns how long it took. */
static int64
wait_for_one(OverflowLook *look)
{
	int64		left_ms = look->left_ms;

	interrupt_set_connection(look->conn);
	free(standby_overflow_begin(look, NULL));
	session_command(look->conn, "ROLLBACK");
	return left_ms - look->left_ms;
}

int64
standby_overflow_wait(OverflowLook *looks, int n)
{
	int64		all_ms = 0;
	int64		ms;

	/*
	 * Check all servers again after a wait, because snapshots of the earlier
	 * ones may have overflowed meanwhile.
	 */
	do
	{
		ms = 0;
		for (int i = 0; i < n; i++)
			ms += wait_for_one(&looks[i]);
		all_ms += ms;
	} while (ms > 0);
	interrupt_set_connection(looks[0].conn);
	return all_ms;
}
