/*
 * logical_slot.c
 *		Makes a logical replication slot, and drops it if the run fails.
 *
 * The exported snapshot lives until the next command of the connection that
 * made the slot, or its end.  So the leader imports it at once, and exports
 * it again from its own transaction, as it does with a snapshot that the user
 * named; then the replication connection is closed, and cannot be lost, or
 * keep rows from vacuum longer than the leader does.  On a standby the
 * replication connection stays open until all rows were read: there a session
 * that imports a snapshot is not always protected (snapshot.h).
 *
 * The slot is not the connection's: it outlives all of us, and keeps the
 * server from removing WAL.  Therefore a run that fails drops it in a new
 * session.  That a slot is ours is known by the server's answer to the
 * request for it.  If there is no answer, since the connection was lost or
 * the request was cancelled, there may be a slot or none; such a one is
 * looked for and reported, but never dropped, as someone else may have made
 * it.
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
 * Can the server make a logical replication slot?
 * ----------
 */

/* CREATE_REPLICATION_SLOT exports a snapshot by an option since 10. */
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
 * A standby cannot have a slot's snapshot kept whole otherwise: nothing
 * protects it before it is exported.
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
 * Take the next word of a list that PostgreSQL reads with SplitGUCList()
 * (varlena.c): words end at a comma or white space, or are in double quotes.
 * NULL at its end; owned.
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

/* From 15.19, 17.11 and so on; there is no such setting before. */
static const char libraries_query[] =
"SELECT s.setting FROM pg_catalog.pg_settings s"
" WHERE s.name OPERATOR(pg_catalog.=) 'output_plugin_libraries'";

/* Does the server allow the plugin, which must be in the list as it is? */
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

/* The output plugin of the slot that the options ask for; borrowed. */
static const char *
slot_check_plugin(const Options *options)
{
	return options->slot_plugin ? options->slot_plugin : "pgoutput";
}

/*
 * The errors are not fatal at once: the user gets all of them in one go, and
 * the caller ends the run.
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
	/* from 19 on logical decoding is turned on when the first slot is made */
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
		pg_log_error_hint("Choose another name, or drop it if it is not needed: SELECT pg_drop_replication_slot('%s');",
						  options->slot);
	}
	if (result_is_true(res, 0, 3))
	{
		pg_log_error("all %s replication slots of the server are in use",
					 PQgetvalue(res, 0, 2));
		pg_log_error_hint("Drop one that is not needed, or increase max_replication_slots and restart the server.");
	}
	PQclear(res);
	check_feedback(conn);
}

/*
 * Every replication connection needs this attribute (postinit.c).  The role
 * that connects is what counts, not one of SET ROLE.
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
 * Was this connection for replication made?  If not, an error says so, and
 * what the role, or the server, may lack.  The leader's session is asked for
 * that, since libpq has only the words of the refusal.
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
		pg_log_error_hint("Let the role connect to the database in pg_hba.conf, and let max_wal_senders allow one more connection.");
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
 * The publications that --publication names.
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
			pg_fatal_hint("Create it before the copy, e.g. CREATE PUBLICATION %s FOR ALL TABLES;",
						  fmtId(names[i]));
		}
		PQclear(res);
	}
}

/* ----------
 * Makes a logical replication slot, and drops it if the run fails.
 * ----------
 */

/* How long to wait for transactions before saying so. */
#define EXPLAIN_WAIT_MS 5000

/* How long the server may take to tell how the slot is. */
#define STATUS_MS 15000

/* How often to look for signals while waiting. */
#define LOOK_MS 200

/*
 * Dropping: how often and how long apart to try.  A server that restarts
 * after a crash, a subscription that still streams, and sessions that have
 * not ended yet are in the way for a moment.
 */
#define DROP_TRIES 10
#define DROP_RETRY_MS 500

typedef enum SlotState
{
	SLOT_NONE,					/* not there, or not ours */
	SLOT_REQUESTED,				/* the server has not answered */
	SLOT_MADE
} SlotState;

/* The slot as those see it who use it, and what it takes to undo it. */
typedef struct SlotMaker
{
	LogicalSlot slot;			/* first: the others have this address */
	SlotState	state;
	PGconn	   *conn;			/* replication; NULL once closed */
	const PeerAddress *address;
} SlotMaker;

/* ----------
 * Connections
 * ----------
 */

/*
 * The exported snapshot lives in an idle transaction: no timeout may end it,
 * nor the wait for others before.  A replication connection knows simple
 * queries only.
 */
static const char timeouts_query[] =
"SELECT pg_catalog.set_config(name, '0', false) FROM pg_catalog.pg_settings"
" WHERE name OPERATOR(pg_catalog.=) ANY ('{statement_timeout,lock_timeout,"
"idle_in_transaction_session_timeout,idle_session_timeout,"
"transaction_timeout}')";

/* ----------
 * Dropping
 * ----------
 */

/* Wait, but not longer than that, for something to happen; true if it has. */
static bool
answer_arrived(PGconn *conn, int timeout_ms)
{
	struct pollfd fd = {.fd = PQsocket(conn),.events = POLLIN};

	if (PQisBusy(conn))
		(void) poll(&fd, 1, timeout_ms);
	/* at the end of a connection PQgetResult() says what happened */
	return PQconsumeInput(conn) == 0 || !PQisBusy(conn);
}

/*
 * Any other error may have come before or after the slot was made, so the
 * state remains as it is.
 */
static void
take_answer(SlotMaker *maker, const PGresult *res)
{
	if (PQresultStatus(res) == PGRES_TUPLES_OK)
		maker->state = SLOT_MADE;
	/* 42710 duplicate_object: someone was faster, and it is theirs */
	else if (session_error_is(res, "42710"))
		maker->state = SLOT_NONE;
}

/* The request may be under way still: recall it, and learn how it went. */
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
 * Drop the slot, if it is known to be ours, else only look for it, in a
 * session of its own.  True if there is none any more; else *problem says why
 * (owned).
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

/* An exit callback of a run that failed: no slot is left behind. */
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
	pg_log_error_hint("Drop it on the server: SELECT pg_drop_replication_slot('%s');",
					  maker->slot.name);
}

/* ----------
 * Making it
 * ----------
 */

/* Who keeps the server from finding a point that is consistent? */
static const char writers_query[] =
"SELECT pg_catalog.pg_is_in_recovery(), (SELECT what FROM ("
"SELECT pg_catalog.format('process %s, of user \"%s\" on database \"%s\", since %s',"
" pid, usename, datname, xact_start), xact_start"
" FROM pg_catalog.pg_stat_activity WHERE backend_xid IS NOT NULL"
" UNION ALL "
"SELECT pg_catalog.format('\"%s\", prepared by \"%s\" on database \"%s\", since %s',"
" gid, owner, database, prepared), prepared"
" FROM pg_catalog.pg_prepared_xacts) w (what, since) ORDER BY since LIMIT 1)";

/*
 * A slot is consistent when all transactions have ended that were running
 * when it was begun (snapbuild.c).  On a busy server that can take long, and
 * the user may know what to end.
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
		pg_log_warning_detail("The oldest transaction is that of %s.",
							  PQgetvalue(res, 0, 1));
}

/* 15 gave the command a list of options; before there were keywords. */
static char *
create_command(PGconn *conn, const LogicalSlot *slot)
{
	PQExpBufferData sql = buffer_new();

	appendPQExpBuffer(&sql, "CREATE_REPLICATION_SLOT \"%s\" LOGICAL ", slot->name);

	/*
	 * The walsender's grammar (repl_scanner.l) has no other escape.  In older
	 * minors, as 15.18, it has none, and such a name is a syntax error.
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

/* Ask for the slot, and wait for it, however long that takes. */
static PGresult *
request_slot(SlotMaker *maker, PGconn *leader_conn)
{
	int			waited_ms = 0;

	interrupt_set_connection(maker->conn);
	interrupt_check();			/* who came before could not cancel this */
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
	/* found by the exit callback, so it must outlive this function */
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
	/* the end of the answer; a command would end the snapshot */
	session_end_results(maker->conn);
	interrupt_set_connection(conn);
	pg_log_info("created replication slot \"%s\" with plugin \"%s\" at LSN %s",
				maker->slot.name, maker->slot.plugin, maker->slot.lsn);
	return &maker->slot;
}

/* The exported snapshot has been imported: nothing needs this connection. */
void
logical_slot_snapshot_taken(const LogicalSlot *slot)
{
	SlotMaker  *maker = (SlotMaker *) slot;

	PQfinish(maker->conn);
	maker->conn = NULL;
}

/*
 * In a child: PQfinish() would send the server a Terminate message on the
 * connection that is the leader's, so only the descriptor is closed.
 */
void
logical_slot_close_inherited(const LogicalSlot *slot)
{
	const SlotMaker *maker = (const SlotMaker *) slot;

	if (maker->conn)
		close(PQsocket(maker->conn));
}

/* ----------
 * At the end of the run
 * ----------
 */

/*
 * wal_status came with 13.  A session of its own: the leader's may be gone,
 * and a lost slot is better noticed late than not at all.
 */
static const char status_query[] =
"SELECT pg_catalog.to_jsonb(s) OPERATOR(pg_catalog.->>) 'wal_status', s.active"
" FROM pg_catalog.pg_replication_slots s"
" WHERE s.slot_name OPERATOR(pg_catalog.=) ";

/* NULL if there is no connection, or no answer. */
static PGresult *
query_status(const LogicalSlot *slot, PGconn **conn)
{
	const SlotMaker *maker = (const SlotMaker *) slot;

	*conn = connection_try_peer(maker->address, "pg_pardump");
	if (PQstatus(*conn) != CONNECTION_OK)
		return NULL;
	/* a name is of letters, digits and _, which options are checked for */
	return session_exec_within(*conn,
							   psprintf("%s'%s'", status_query, slot->name),
							   STATUS_MS);
}

bool
logical_slot_recheck(const LogicalSlot *slot)
{
	PGconn	   *conn;
	PGresult   *res = query_status(slot, &conn);
	bool		usable = true;

	if (res == NULL && PQstatus(conn) == CONNECTION_OK)
		pg_log_warning("could not check replication slot \"%s\": the server does not answer",
					   slot->name);
	else if (PQresultStatus(res) != PGRES_TUPLES_OK)
		pg_log_warning("could not check replication slot \"%s\": %s",
					   slot->name, connection_words(conn));
	else if (PQntuples(res) == 0)
	{
		pg_log_warning("replication slot \"%s\" was dropped by another session",
					   slot->name);
		pg_log_warning_detail("Changes after its snapshot cannot be replicated.");
		pg_log_warning_hint("If they are needed, run the same command again.");
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

/* Does a subscription stream from it? */
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
