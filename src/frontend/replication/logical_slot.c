/*
 * logical_slot.c
 *		Creates a logical replication slot, and drops it if the run fails.
 *
 * The exported snapshot exists until the next command of the connection that
 * has created the slot, or until its end.  So the leader imports the snapshot
 * at once, and exports it again from its own transaction, as with a snapshot
 * that the user specifies.  Then the replication connection is closed: it can
 * no longer be lost, or hold back vacuum longer than the leader does.  On a
 * standby, it stays open until all rows were read, because there the
 * transaction that imports a snapshot is not always protected (snapshot.h).
 *
 * The slot does not belong to the connection: it outlives the program, and
 * keeps the server from removing WAL.  So a run that fails drops it in a new
 * session.  The slot is known to be ours if the server has confirmed the
 * request to create it.  Without an answer, because the connection was lost
 * or the request was cancelled, the slot may exist or not.  The program looks
 * for such a slot and reports it, but does not drop it, because another user
 * may have created it.
 */
#include "base/fe_compat.h"

#include <poll.h>

#include "common/connect.h"
#include "fe_utils/string_utils.h"

#include "base/buffer.h"
#include "base/interrupt.h"
#include "replication/logical_slot.h"
#include "session/session_lost.h"
#include "session/snapshot.h"

/* ----------
 * Checks before the slot is created.
 * ----------
 */

/* CREATE_REPLICATION_SLOT has an option to export a snapshot since 10. */
#define MIN_SLOT_VERSION 100000

static const char check_query[] =
"SELECT pg_catalog.current_setting('wal_level'),"
" pg_catalog.pg_is_in_recovery(),"
" pg_catalog.current_setting('max_replication_slots'),"
" (SELECT pg_catalog.count(*) FROM pg_catalog.pg_replication_slots)"
" OPERATOR(pg_catalog.>=)"
" pg_catalog.current_setting('max_replication_slots')::pg_catalog.int8,"
" EXISTS (SELECT 1 FROM pg_catalog.pg_replication_slots"
" WHERE slot_name OPERATOR(pg_catalog.=) $1)";

/*
 * Check that hot_standby_feedback is enabled on a standby: without it,
 * nothing protects the slot's snapshot before it is exported.
 */
static void
check_feedback(PGconn *conn)
{
	PGresult   *res = session_query(conn,
									"SELECT 1 WHERE pg_catalog.pg_is_in_recovery()"
									" AND pg_catalog.current_setting('hot_standby_feedback') OPERATOR(pg_catalog.=) 'off'");

	if (PQntuples(res) == 1)
	{
		pg_log_error("--create-slot on a standby requires hot_standby_feedback to be enabled");
		pg_log_error_detail("Without it, rows that the slot's snapshot sees might be removed before it is exported.");
		pg_log_error_hint("On the standby, run ALTER SYSTEM SET hot_standby_feedback = on, and reload its configuration.");
	}
}

/*
 * Warn if the server's minor release builds initial snapshots with a race
 * condition: "Avoid race condition when building an initial decoding
 * snapshot" in the release notes of 2026-11-12.
 */
static void
check_minor(PGconn *conn)
{
	int			version = PQserverVersion(conn);
	char	   *release;

	if (snapshot_is_fixed(version))
		return;
	release = snapshot_fixed_release(version);
	pg_log_warning("PostgreSQL %d.%d has a bug that can give a new replication slot a wrong snapshot",
				   version / 10000, version % 10000);
	if (release)
		pg_log_warning_detail("There is a small risk of reading wrong rows if transactions commit while the slot is created; PostgreSQL %s fixes this.",
							  release);
	else
		pg_log_warning_detail("There is a small risk of reading wrong rows if transactions commit while the slot is created; no release of PostgreSQL %d fixes this.",
							  version / 10000);
	pg_log_warning_hint("Update the server first, or compare the copy with the source before it is used.");
}

/*
 * Returns the next word of a list that PostgreSQL reads with SplitGUCList()
 * (varlena.c), or NULL at its end; the caller owns it.  Words end at a comma
 * or white space, or are in double quotes.
 */
static char *
next_word(const char **list)
{
	const char *c = *list + strspn(*list, ", \t\n\r\f\v");
	char	   *word;
	size_t		len = 0;

	if (*c == '\0')
		return NULL;
	word = pg_malloc(strlen(c) + 1);
	if (*c != '"')
		while (*c && strchr(", \t\n\r\f\v", *c) == NULL)
			word[len++] = *c++;
	else
		for (c++; *c && (*c != '"' || *++c == '"'); c++)
			word[len++] = *c;
	word[len] = '\0';
	*list = c;
	return word;
}

/* This setting exists since 15.19, 17.11 and so on. */
static const char libraries_query[] =
"SELECT s.setting FROM pg_catalog.pg_settings s"
" WHERE s.name OPERATOR(pg_catalog.=) 'output_plugin_libraries'";

/*
 * Does the server allow the plugin?  The list must contain exactly the same
 * name.
 */
static void
check_plugin(PGconn *conn, const char *plugin)
{
	PGresult   *res = session_query(conn, libraries_query);
	bool		allowed = PQntuples(res) == 0;
	const char *list = allowed ? "" : PQgetvalue(res, 0, 0);
	char	   *word;

	while (!allowed && (word = next_word(&list)) != NULL)
		allowed = strcmp(word, plugin) == 0;
	if (!allowed)
	{
		pg_log_error("the server does not allow output plugin \"%s\"",
					 printable(plugin));
		pg_log_error_detail("Its setting output_plugin_libraries is \"%s\".",
							printable(PQgetvalue(res, 0, 0)));
		pg_log_error_hint("If all roles with REPLICATION may use the plugin, add it to output_plugin_libraries and reload the server's configuration.");
	}
	PQclear(res);
}

/* Returns the output plugin for the slot; borrowed. */
static const char *
slot_check_plugin(const Options *options)
{
	return options->slot_plugin ? options->slot_plugin : "pgoutput";
}

/*
 * The function does not exit after an error, so that the user gets all errors
 * at once.  The caller ends the run.
 */
void
slot_check(PGconn *conn, const Options *options)
{
	const char *params[] = {options->slot};
	const char *wal_level;
	PGresult   *res;

	if (PQserverVersion(conn) < MIN_SLOT_VERSION)
		pg_fatal("option %s requires a server of PostgreSQL %d or newer",
				 "--create-slot", MIN_SLOT_VERSION / 10000);
	check_minor(conn);
	check_plugin(conn, slot_check_plugin(options));
	res = session_query_params(conn, check_query, 1, params, 0);
	wal_level = PQgetvalue(res, 0, 0);
	if (result_is_true(res, 0, 1) && PQserverVersion(conn) < 160000)
	{
		pg_log_error("standbys older than PostgreSQL 16 do not support logical replication slots");
		pg_log_error_hint("Connect to the primary, or omit --create-slot.");
	}
	/* Since 19, the first slot enables logical decoding. */
	if (strcmp(wal_level, "logical") != 0 &&
		(PQserverVersion(conn) < 190000 || strcmp(wal_level, "minimal") == 0))
	{
		pg_log_error("a logical replication slot requires wal_level to be \"logical\" on the server, not \"%s\"",
					 wal_level);
		pg_log_error_hint("Run ALTER SYSTEM SET wal_level = 'logical', and restart the server.");
	}
	if (result_is_true(res, 0, 4))
	{
		pg_log_error("replication slot \"%s\" already exists", options->slot);
		pg_log_error_hint("Use --slot to specify another name, or drop the slot if it is not needed: SELECT pg_drop_replication_slot('%s');",
						  options->slot);
	}
	if (result_is_true(res, 0, 3))
	{
		pg_log_error("all %s replication slots of the server are in use",
					 PQgetvalue(res, 0, 2));
		pg_log_error_hint("Drop a slot that is not needed, or increase max_replication_slots and restart the server.");
	}
	PQclear(res);
	check_feedback(conn);
}

/*
 * Does the role have the attribute that replication connections require
 * (postinit.c)? The role that connects needs it, not one of SET ROLE.
 */
static bool
has_replication_attribute(PGconn *conn)
{
	PGresult   *res = session_query(conn,
									"SELECT rolsuper OR rolreplication FROM pg_catalog.pg_roles"
									" WHERE rolname OPERATOR(pg_catalog.=) SESSION_USER");

	return PQntuples(res) == 1 && result_is_true(res, 0, 0);
}

/*
 * Was this replication connection established?  If not, log an error with a
 * hint about what the role or the server lacks.  That is queried in the
 * leader's session, because libpq only has the text of the refusal.
 */
static bool
slot_check_opened(PGconn *replication_conn, PGconn *leader_conn)
{
	if (PQstatus(replication_conn) == CONNECTION_OK)
		return true;
	interrupt_check();
	pg_log_error("could not open a replication connection: %s",
				 connection_words(replication_conn));
	if (!has_replication_attribute(leader_conn))
		pg_log_error_hint("The role needs the attribute REPLICATION: ALTER ROLE %s REPLICATION;",
						  fmtId(PQuser(leader_conn)));
	else
		pg_log_error_hint("Check that pg_hba.conf allows this connection, and that max_wal_senders is large enough.");
	return false;
}

void
slot_check_connection(PGconn *leader_conn, const PeerAddress *address)
{
	PGconn	   *replication_conn = connection_try_replication(address,
															  "pg_pardump");

	(void) slot_check_opened(replication_conn, leader_conn);
	PQfinish(replication_conn);
}

/* ----------
 * The publications of --publication.
 * ----------
 */

char	  **
publication_names(const Options *options, int *n_names)
{
	char	  **names = NULL;
	int			n = 0;

	for (const SimpleStringListCell *cell = options->publications.head;
		 cell; cell = cell->next)
	{
		const char *begin = cell->val;

		for (;;)
		{
			size_t		len = strcspn(begin, ",");

			if (len == 0)
			{
				pg_log_error("invalid value \"%s\" for option %s", cell->val,
							 "--publication");
				pg_fatal_detail("Names of publications must not be empty.");
			}
			*array_add(names, n) = pnstrdup(begin, len);
			if (begin[len] == '\0')
				break;
			begin += len + 1;
		}
	}
	*n_names = n;
	return names;
}

char *
publication_array(PGconn *conn, const Options *options)
{
	int			n;
	char	  **names = publication_names(options, &n);

	return text_array(conn, names, n);
}

void
publication_check(PGconn *conn, const Options *options)
{
	int			n;
	char	  **names = publication_names(options, &n);

	for (int i = 0; i < n; i++)
	{
		const char *params[] = {names[i]};
		PGresult   *res = session_query_params(conn,
											   "SELECT 1 FROM pg_catalog.pg_publication"
											   " WHERE pubname OPERATOR(pg_catalog.=) $1",
											   1, params, 0);

		if (PQntuples(res) == 0)
		{
			pg_log_error("publication \"%s\" does not exist on the source",
						 names[i]);
			pg_fatal_hint("Create it before the copy, for example: CREATE PUBLICATION %s FOR ALL TABLES;",
						  fmtId(names[i]));
		}
		PQclear(res);
	}
}

/* ----------
 * Creating and dropping the slot.
 * ----------
 */

/* After this time, a message reports that the slot waits for transactions. */
#define EXPLAIN_WAIT_MS 5000

/* The longest wait for the state of the slot. */
#define STATUS_MS 15000

/* How often to check for signals while waiting. */
#define LOOK_MS 200

/*
 * The number of attempts to drop the slot, and the time between them.  They
 * may fail for a moment while a server restarts after a crash, while a
 * subscription still streams, or while sessions have not ended yet.
 */
#define DROP_TRIES 10
#define DROP_RETRY_MS 500

typedef enum SlotState
{
	SLOT_NONE,					/* does not exist, or is not ours */
	SLOT_REQUESTED,				/* the server has not answered */
	SLOT_MADE
} SlotState;

/* The slot as callers see it, and the data that is needed to drop it. */
typedef struct SlotMaker
{
	LogicalSlot slot;			/* first, as callers have its address */
	SlotState	state;
	PGconn	   *conn;			/* for replication; NULL once closed */
	const PeerAddress *address;
} SlotMaker;

/* ----------
 * Settings of the replication connection.
 * ----------
 */

/*
 * Disable all timeouts, because the exported snapshot exists in an idle
 * transaction, and creating the slot may wait for other transactions.  The
 * query has no parameters because a replication connection supports only
 * simple queries.
 */
static const char timeouts_query[] =
"SELECT pg_catalog.set_config(name, '0', false) FROM pg_catalog.pg_settings"
" WHERE name OPERATOR(pg_catalog.=) ANY ('{statement_timeout,lock_timeout,"
"idle_in_transaction_session_timeout,idle_session_timeout,"
"transaction_timeout}')";

/* ----------
 * Dropping the slot.
 * ----------
 */

/* Wait at most timeout_ms for an answer.  Returns true if there is one. */
static bool
answer_arrived(PGconn *conn, int timeout_ms)
{
	struct pollfd fd = {.fd = PQsocket(conn),.events = POLLIN};

	if (PQisBusy(conn))
		(void) poll(&fd, 1, timeout_ms);
	/* If the connection has ended, PQgetResult() returns the reason. */
	return PQconsumeInput(conn) == 0 || !PQisBusy(conn);
}

/*
 * Set the state from the server's answer.  Other errors may occur before or
 * after the slot was created, so the state remains unknown.
 */
static void
take_answer(SlotMaker *maker, const PGresult *res)
{
	if (PQresultStatus(res) == PGRES_TUPLES_OK)
		maker->state = SLOT_MADE;
	/* 42710 is duplicate_object: the slot belongs to another user. */
	else if (session_error_is(res, "42710"))
		maker->state = SLOT_NONE;
}

/*
 * Cancel the request to create the slot, which may still be running, and wait
 * for its result.
 */
static void
cancel_request(SlotMaker *maker)
{
	PGcancel   *cancel = PQgetCancel(maker->conn);
	char		errbuf[256];

	if (cancel)
		(void) PQcancel(cancel, errbuf, sizeof(errbuf));
	PQfreeCancel(cancel);
	for (int i = 0; i < DROP_TRIES; i++)
	{
		if (answer_arrived(maker->conn, DROP_RETRY_MS))
		{
			PGresult   *res = PQgetResult(maker->conn);

			take_answer(maker, res);
			PQclear(res);
			return;
		}
	}
}

static const char drop_query[] =
"SELECT pg_catalog.pg_drop_replication_slot(slot_name)"
" FROM pg_catalog.pg_replication_slots"
" WHERE slot_name OPERATOR(pg_catalog.=) $1";

static const char find_query[] =
"SELECT slot_name FROM pg_catalog.pg_replication_slots"
" WHERE slot_name OPERATOR(pg_catalog.=) $1";

/*
 * Drop the slot in a new session if it is known to be ours, otherwise only
 * look for it.  Returns true if the slot does not exist any more.  Otherwise,
 * *problem is the reason; the caller owns it.
 */
static bool
try_to_drop(SlotMaker *maker, char **problem)
{
	const char *params[] = {maker->slot.name};
	PGconn	   *conn = connection_try_peer(maker->address, "pg_pardump");
	PGresult   *res = NULL;
	bool		gone;

	if (PQstatus(conn) == CONNECTION_OK)
		res = PQexecParams(conn, maker->state == SLOT_MADE ? drop_query : find_query,
						   1, NULL, params, NULL, NULL, 0);
	gone = PQresultStatus(res) == PGRES_TUPLES_OK &&
		(maker->state == SLOT_MADE || PQntuples(res) == 0);
	*problem = PQresultStatus(res) == PGRES_TUPLES_OK ?
		pg_strdup("the slot exists\n") : pg_strdup(connection_words(conn));
	PQclear(res);
	PQfinish(conn);
	return gone;
}

/* An exit callback that drops the slot after a failure. */
static void
logical_slot_drop_at_exit(void *arg)
{
	SlotMaker  *maker = arg;
	char	   *problem = NULL;

	interrupt_set_connection(NULL);
	if (maker->state == SLOT_REQUESTED)
		cancel_request(maker);
	PQfinish(maker->conn);
	maker->conn = NULL;
	if (maker->state == SLOT_NONE)
		return;
	for (int i = 0; i < DROP_TRIES; i++)
	{
		if (i > 0)
			pg_usleep(DROP_RETRY_MS * 1000L);
		if (try_to_drop(maker, &problem))
			return;
	}
	if (maker->state == SLOT_MADE)
		pg_log_error("could not drop replication slot \"%s\", which was created by this run: %s",
					 maker->slot.name, problem);
	else
		pg_log_error("could not determine whether this run has created replication slot \"%s\": %s",
					 maker->slot.name, problem);
	pg_log_error_detail("An unused slot prevents the server from removing WAL, which can fill its disk.");
	pg_log_error_hint(maker->state == SLOT_MADE ?
					  "Drop the slot on the server: SELECT pg_drop_replication_slot('%s');" :
					  "If the slot exists and nothing else uses it, drop it on the server: SELECT pg_drop_replication_slot('%s');",
					  maker->slot.name);
}

/* ----------
 * Creating the slot.
 * ----------
 */

/*
 * Find the oldest transaction that keeps the server from finding a consistent
 * point.
 */
static const char writers_query[] =
"SELECT pg_catalog.pg_is_in_recovery(), w.pid, w.gid, w.owner, w.database, w.since"
" FROM (SELECT) AS one LEFT JOIN ("
"SELECT pid, NULL, usename, datname, xact_start"
" FROM pg_catalog.pg_stat_activity WHERE backend_xid IS NOT NULL"
" UNION ALL "
"SELECT NULL, gid, owner, database, prepared"
" FROM pg_catalog.pg_prepared_xacts) w (pid, gid, owner, database, since) ON true"
" ORDER BY w.since LIMIT 1";

/*
 * Report which transaction the slot waits for.  A slot becomes consistent
 * when all transactions have ended that were running when its creation began
 * (snapbuild.c).  On a busy server that can take long, and the user may be
 * able to end the transaction.
 */
static void
explain_wait(PGconn *conn, const char *name)
{
	PGresult   *res = session_query(conn, writers_query);

	pg_log_warning("replication slot \"%s\" is waiting for all running write transactions to end",
				   name);
	if (result_is_true(res, 0, 0))
		pg_log_warning_hint("On a standby, creating the slot also waits for a record of running transactions from the primary; run SELECT pg_log_standby_snapshot() on the primary to write one.");
	else if (!PQgetisnull(res, 0, 1))
		pg_log_warning_detail("The oldest transaction is that of process %s, of user \"%s\" on database \"%s\", since %s.",
							  PQgetvalue(res, 0, 1),
							  printable(PQgetvalue(res, 0, 3)),
							  printable(PQgetvalue(res, 0, 4)),
							  PQgetvalue(res, 0, 5));
	else if (!PQgetisnull(res, 0, 2))
		pg_log_warning_detail("The oldest transaction is \"%s\", prepared by user \"%s\" on database \"%s\", since %s.",
							  printable(PQgetvalue(res, 0, 2)),
							  printable(PQgetvalue(res, 0, 3)),
							  printable(PQgetvalue(res, 0, 4)),
							  PQgetvalue(res, 0, 5));
}

/*
 * Returns the command.  It has a list of options since 15, and keywords in
 * older versions.
 */
static char *
create_command(PGconn *conn, const LogicalSlot *slot)
{
	PQExpBufferData sql = buffer_new();

	appendPQExpBuffer(&sql, "CREATE_REPLICATION_SLOT \"%s\" LOGICAL ", slot->name);

	/*
	 * Doubled quotes are the only escape in the walsender's grammar
	 * (repl_scanner.l).  Older minor versions, such as 15.18, do not support
	 * them, and report a syntax error for such a name.
	 */
	appendPQExpBufferChar(&sql, '"');
	for (const char *c = slot->plugin; *c; c++)
	{
		if (*c == '"')
			appendPQExpBufferChar(&sql, '"');
		appendPQExpBufferChar(&sql, *c);
	}
	appendPQExpBufferStr(&sql, PQserverVersion(conn) >= 150000 ?
						 "\" (SNAPSHOT 'export')" : "\" EXPORT_SNAPSHOT");
	return sql.data;
}

/* Request the slot, and wait for it without a limit. */
static PGresult *
request_slot(SlotMaker *maker, PGconn *leader_conn)
{
	int			waited_ms = 0;

	interrupt_set_connection(maker->conn);
	interrupt_check();			/* an earlier signal could not cancel this
								 * request */
	maker->state = SLOT_REQUESTED;
	if (PQsendQuery(maker->conn, create_command(maker->conn, &maker->slot)) == 0)
		pg_fatal("could not create replication slot \"%s\": %s",
				 maker->slot.name, PQerrorMessage(maker->conn));
	while (!answer_arrived(maker->conn, LOOK_MS))
	{
		interrupt_check();
		waited_ms += LOOK_MS;
		if (waited_ms == EXPLAIN_WAIT_MS)
			explain_wait(leader_conn, maker->slot.name);
	}
	return PQgetResult(maker->conn);
}

const LogicalSlot *
logical_slot_create(PGconn *conn, const PeerAddress *address,
					const Options *options)
{
	/*
	 * The exit callback uses this struct, so it must outlive this function.
	 */
	SlotMaker  *maker = pg_malloc0(sizeof(SlotMaker));
	PGresult   *res;

	maker->slot.name = options->slot;
	maker->slot.plugin = slot_check_plugin(options);
	maker->address = address;
	maker->conn = connection_try_replication(address, "pg_pardump");
	if (!slot_check_opened(maker->conn, conn))
		exit(1);
	PQclear(session_query(maker->conn, ALWAYS_SECURE_SEARCH_PATH_SQL));
	PQclear(session_query(maker->conn, timeouts_query));
	cleanup_push(logical_slot_drop_at_exit, maker);

	res = request_slot(maker, conn);
	take_answer(maker, res);
	interrupt_check();
	if (maker->state != SLOT_MADE)
		pg_fatal("could not create replication slot \"%s\": %s",
				 maker->slot.name, PQerrorMessage(maker->conn));
	maker->slot.lsn = pg_strdup(PQgetvalue(res, 0, 1));
	maker->slot.snapshot = pg_strdup(PQgetvalue(res, 0, 2));
	PQclear(res);

	/*
	 * Read the end of the answer, because another command would end the
	 * snapshot.
	 */
	session_end_results(maker->conn);
	interrupt_set_connection(conn);
	pg_log_info("created replication slot \"%s\" with plugin \"%s\" at LSN %s",
				maker->slot.name, maker->slot.plugin, maker->slot.lsn);
	return &maker->slot;
}

/*
 * The leader has imported the exported snapshot, so the connection is not
 * needed any more.
 */
void
logical_slot_snapshot_taken(const LogicalSlot *slot)
{
	SlotMaker  *maker = (SlotMaker *) slot;

	PQfinish(maker->conn);
	maker->conn = NULL;
}

/*
 * In a child, close only the descriptor: PQfinish() would send a Terminate
 * message on the leader's connection.
 */
void
logical_slot_close_inherited(const LogicalSlot *slot)
{
	const SlotMaker *maker = (const SlotMaker *) slot;

	if (maker->conn)
		close(PQsocket(maker->conn));
}

/* ----------
 * The slot at the end of the run.
 * ----------
 */

/*
 * Query the state of the slot.  The column wal_status exists since 13, so it
 * is read as JSON.  The query runs in a session of its own, because the
 * leader's session may have ended, and a lost slot is better noticed late
 * than never.
 */
static const char status_query[] =
"SELECT pg_catalog.to_jsonb(s) OPERATOR(pg_catalog.->>) 'wal_status', s.active"
" FROM pg_catalog.pg_replication_slots s"
" WHERE s.slot_name OPERATOR(pg_catalog.=) ";

/* Returns NULL if there is no connection or no answer. */
static PGresult *
query_status(const LogicalSlot *slot, PGconn **conn)
{
	const SlotMaker *maker = (const SlotMaker *) slot;

	*conn = connection_try_peer(maker->address, "pg_pardump");
	if (PQstatus(*conn) != CONNECTION_OK)
		return NULL;

	/*
	 * The name contains only letters, digits and _, as was checked with the
	 * options.
	 */
	return session_exec_within(*conn,
							   psprintf("%s'%s'", status_query, slot->name),
							   STATUS_MS);
}

bool
logical_slot_recheck(const LogicalSlot *slot, const char *hint)
{
	PGconn	   *conn;
	PGresult   *res = query_status(slot, &conn);
	bool		usable = true;

	if (PQresultStatus(res) != PGRES_TUPLES_OK)
	{
		pg_log_warning("could not check replication slot \"%s\": %s", slot->name,
					   res == NULL && PQstatus(conn) == CONNECTION_OK ?
					   "the server did not respond" : connection_words(conn));
		pg_log_warning_detail("The slot might have been dropped or invalidated.");
		pg_log_warning_hint("Check the slot on the source: SELECT * FROM pg_replication_slots WHERE slot_name = '%s';",
							slot->name);
	}
	else if (PQntuples(res) == 0)
	{
		pg_log_warning("replication slot \"%s\" was dropped by another session",
					   slot->name);
		pg_log_warning_detail("Changes after its snapshot cannot be replicated.");
		if (hint)
			pg_log_warning_hint("%s", hint);
		usable = false;
	}
	else if (strcmp(PQgetvalue(res, 0, 0), "lost") == 0)
	{
		pg_log_warning("replication slot \"%s\" was invalidated by the server while its snapshot was read",
					   slot->name);
		pg_log_warning_hint("Check max_slot_wal_keep_size and, on PostgreSQL 18 or newer, idle_replication_slot_timeout.  The slot can no longer be used, and should be dropped.");
		usable = false;
	}
	PQclear(res);
	PQfinish(conn);
	return usable;
}

/* A subscription that streams makes the slot active. */
bool
logical_slot_is_active(const LogicalSlot *slot)
{
	PGconn	   *conn;
	PGresult   *res = query_status(slot, &conn);
	bool		active = PQresultStatus(res) == PGRES_TUPLES_OK &&
		PQntuples(res) == 1 && result_is_true(res, 0, 1);

	PQclear(res);
	PQfinish(conn);
	return active;
}

void
logical_slot_print(const LogicalSlot *slot)
{
	fprintf(event_log_text_output(),
			"created logical replication slot \"%s\" at LSN %s\n",
			slot->name, slot->lsn);
	fflush(event_log_text_output());
}
