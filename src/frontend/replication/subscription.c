/*
 * subscription.c
 *		Creates the subscription on the target of a copy, and drops it if the
 *		run fails.
 *
 * A single CREATE SUBSCRIPTION connects to the source, where it reads the
 * list of published tables, but creates no slot and copies no data
 * (subscriptioncmds.c:CreateSubscription).  Creating it without a connection
 * and refreshing it would lose rows: REFRESH PUBLICATION requires an enabled
 * subscription, whose worker skips, and confirms, changes of tables that it
 * does not know yet.
 *
 * Only the last step depends on the rows.  So the same statement is executed
 * before anything is copied, and rolled back.  This tests privileges, names,
 * the connection from the target's server to the source, and the
 * publications, so that errors are reported in the first seconds and not
 * after hours.  The tables do not exist yet, so an error about the first
 * missing table shows that everything else is correct.
 *
 * The connection string may contain a password.  The target stores it in
 * pg_subscription, where superusers can read it.  The program keeps it out of
 * messages and, if permitted, out of the target's log and of views that show
 * statements.
 */
#include "base/fe_compat.h"

#include "common/connect.h"
#include "fe_utils/string_utils.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "base/units.h"
#include "replication/subscription.h"
#include "session/session_lost.h"

/* ----------
 * Comparing the published tables with the copied tables.
 * ----------
 */

/* The number of names that a message lists. */
#define SHOWN_NAMES 10

/*
 * The query returns rows of a kind and a name.  A publication may publish
 * partitions as their root table, but the copy contains the leaves.
 * Published members of extensions do not count as missing, because CREATE
 * EXTENSION creates them, with or without rows.  The replica identity is
 * determined as in relcache.c:RelationGetIndexList: the chosen index may have
 * been dropped, and a deferrable primary key does not identify rows.
 *
 * prqual and prattrs are filters of a publication.  They exist since 15, so
 * the query reads them as JSON.
 */
static const char compare_query[] =
"WITH copied AS (SELECT pg_catalog.unnest($1::pg_catalog.oid[]) AS oid),"
" publication AS (SELECT * FROM pg_catalog.pg_publication"
" WHERE pubname OPERATOR(pg_catalog.=) ANY ($2::pg_catalog.name[])),"
" listed AS (SELECT DISTINCT c.oid, c.relkind"
" FROM pg_catalog.pg_publication_tables p"
" JOIN pg_catalog.pg_namespace n ON n.nspname OPERATOR(pg_catalog.=) p.schemaname"
" JOIN pg_catalog.pg_class c ON c.relnamespace OPERATOR(pg_catalog.=) n.oid"
" AND c.relname OPERATOR(pg_catalog.=) p.tablename"
" WHERE p.pubname OPERATOR(pg_catalog.=) ANY ($2::pg_catalog.name[])),"
" published AS (SELECT oid FROM listed WHERE relkind OPERATOR(pg_catalog.<>) 'p'"
" UNION SELECT t.relid::pg_catalog.oid FROM listed, pg_catalog.pg_partition_tree(listed.oid) t"
" WHERE listed.relkind OPERATOR(pg_catalog.=) 'p' AND t.isleaf),"
" found (kind, oid) AS ("
"SELECT 'published', p.oid FROM published p"
" UNION ALL SELECT 'missing', p.oid FROM published p"
" WHERE NOT EXISTS (SELECT 1 FROM copied c WHERE c.oid OPERATOR(pg_catalog.=) p.oid)"
" AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_depend d"
" WHERE d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass"
" AND d.objid OPERATOR(pg_catalog.=) p.oid AND d.deptype OPERATOR(pg_catalog.=) 'e')"
" UNION ALL SELECT 'extra', c.oid FROM copied c"
" WHERE NOT EXISTS (SELECT 1 FROM published p WHERE p.oid OPERATOR(pg_catalog.=) c.oid)"
" UNION ALL SELECT 'identity', p.oid FROM published p"
" JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) p.oid"
" WHERE c.relreplident OPERATOR(pg_catalog.<>) 'f' AND NOT EXISTS"
" (SELECT 1 FROM pg_catalog.pg_index i"
" WHERE i.indrelid OPERATOR(pg_catalog.=) c.oid AND i.indimmediate"
" AND (c.relreplident OPERATOR(pg_catalog.=) 'd' AND i.indisprimary"
" OR c.relreplident OPERATOR(pg_catalog.=) 'i' AND i.indisreplident))"
" UNION ALL SELECT 'part', r.prrelid FROM pg_catalog.pg_publication_rel r"
" JOIN publication p ON p.oid OPERATOR(pg_catalog.=) r.prpubid"
" WHERE pg_catalog.to_jsonb(r) OPERATOR(pg_catalog.->>) 'prqual' IS NOT NULL"
" OR pg_catalog.to_jsonb(r) OPERATOR(pg_catalog.->>) 'prattrs' IS NOT NULL)"
"SELECT DISTINCT f.kind, pg_catalog.format('%I.%I', n.nspname, c.relname)"
" FROM found f JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) f.oid"
" JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace"
" UNION ALL SELECT 'operations', pubname FROM publication"
" WHERE NOT (pubinsert AND pubupdate AND pubdelete AND pubtruncate)"
" ORDER BY 1, 2";

/* Returns the first names of a kind as a list, or NULL if there are none. */
static char *
names_of_kind(const PGresult *res, const char *kind)
{
	PQExpBufferData buf = buffer_new();
	int			n = 0;

	for (int i = 0; i < PQntuples(res); i++)
	{
		if (strcmp(PQgetvalue(res, i, 0), kind) != 0)
			continue;
		if (n < SHOWN_NAMES)
			units_names_add(&buf, PQgetvalue(res, i, 1));
		n++;
	}
	return n > 0 ? units_names(buf.data, n, SHOWN_NAMES) : NULL;
}

/*
 * Warn about names of a kind, because the user may have chosen this state by
 * mistake.
 */
static void
warn_of_kind(const PGresult *res, const char *kind, const char *warning,
			 const char *names_detail, const char *detail, const char *hint)
{
	char	   *names = names_of_kind(res, kind);

	if (names)
	{
		pg_log_warning("%s", warning);
		pg_log_warning_detail(names_detail, names);
		pg_log_warning_detail("%s", detail);
		pg_log_warning_hint("%s", hint);
	}
}

/*
 * Warn about objects that are copied once, and are not replicated afterwards.
 */
static void
warn_of_objects(const Toc *toc)
{
	int			n_sequences = 0;
	bool		objects = false;

	for (int i = 0; i < toc->n_entries; i++)
	{
		n_sequences += toc_entry_is(&toc->entries[i], "SEQUENCE SET") ? 1 : 0;
		objects |= toc_entry_is(&toc->entries[i], "BLOBS");
	}
	if (objects)
	{
		pg_log_warning("changes of large objects are not replicated");
		pg_log_warning_detail("Later changes of large objects will not reach the target.");
		pg_log_warning_hint("Do not change large objects until clients use the target.");
	}
	if (n_sequences > 0)
	{
		pg_log_warning(ngettext("sequence values are not replicated (%d sequence)",
								"sequence values are not replicated (%d sequences)",
								n_sequences), n_sequences);
		pg_log_warning_hint("Set the sequences on the target with setval() after applications have stopped writing to the source, and before they start writing to the target.");
	}
}

void
subscription_check(PGconn *conn, const Options *options, const Toc *toc,
				   const DumpTables *tables)
{
	const char *params[] = {dump_tables_oids(tables),
	publication_array(conn, options)};
	PGresult   *res = session_query_params(conn, compare_query, 2, params, 0);
	char	   *missing = names_of_kind(res, "missing");
	char	   *published = names_of_kind(res, "published");

	/*
	 * An empty publication is a mistake, because the subscription would
	 * stream nothing.
	 */
	if (published == NULL)
	{
		pg_log_error("the publications do not publish any table");
		pg_fatal_hint("On the source, add the tables to be copied: ALTER PUBLICATION ... ADD TABLE ...;");
	}
	if (missing)
	{
		pg_log_error("published tables are not copied");
		pg_log_error_detail("Tables: %s.", missing);
		pg_fatal_hint("Copy these tables too, or use a publication of the copied tables only.  Otherwise, changes to rows that are missing on the target would be lost.");
	}
	warn_of_kind(res, "extra",
				 "copied tables are not published", "Tables: %s.",
				 "Later changes to these tables will not reach the target.",
				 "To replicate the tables, run on the source: ALTER PUBLICATION ... ADD TABLE ...;");
	warn_of_kind(res, "identity",
				 "published tables have no replica identity", "Tables: %s.",
				 "The source rejects UPDATE and DELETE on such a table.",
				 "Add a primary key that is not deferrable, or use ALTER TABLE ... REPLICA IDENTITY.");
	warn_of_kind(res, "part",
				 "tables are published with some of their rows or columns only",
				 "Tables: %s.",
				 "Changes to the other rows or columns will not reach the target, unless another publication contains them.",
				 "To replicate all rows and columns, use a publication without a WHERE clause and column lists.");
	warn_of_kind(res, "operations",
				 "publications do not publish all of insert, update, delete and truncate",
				 "Publications: %s.",
				 "Changes of the other kinds will not reach the target.",
				 "To replicate all changes, run on the source: ALTER PUBLICATION ... SET (publish = 'insert, update, delete, truncate');");
	warn_of_objects(toc);
	PQclear(res);
}

/* ----------
 * The connection from the target's server to the source.
 * ----------
 */

/*
 * Returns a connection string for the server that the leader is connected to,
 * with only the options that mean the same on another machine.  It contains
 * no files, such as sslrootcert or passfile, and no secrets.  The caller owns
 * it.
 */
static char *
default_conninfo(PGconn *source_conn)
{
	static const char *const portable[] = {
		"host", "hostaddr", "port", "dbname", "user", "sslmode",
		"channel_binding", "gssencmode", "krbsrvname", NULL
	};
	PQconninfoOption *options = PQconninfo(source_conn);
	PQExpBufferData buf = buffer_new();

	if (options == NULL)
		pg_fatal("out of memory");
	for (PQconninfoOption *option = options; option->keyword; option++)
	{
		const char *value = option->val;

		/* If several hosts are specified, use the one that is connected. */
		if (strcmp(option->keyword, "host") == 0)
			value = PQhost(source_conn);
		else if (strcmp(option->keyword, "port") == 0)
			value = PQport(source_conn);
		else if (strcmp(option->keyword, "hostaddr") == 0 && value != NULL)
			value = PQhostaddr(source_conn);
		if (value && value[0] != '\0' &&
			conninfo_is_one_of(option->keyword, portable))
			conninfo_append(&buf, option->keyword, value);
	}
	PQconninfoFree(options);
	return buffer_text(&buf);
}

/*
 * Returns the connection string of the subscription: that of the user, or
 * that of the session on the source, without secrets and options that mean
 * something else on another machine.  Exits with a message if the source is
 * local and the target is not.  The caller owns it; it may contain a secret.
 */
static char *
subscription_conninfo(PGconn *source_conn, PGconn *target_conn,
					  const Options *options)
{
	if (options->subscription_conninfo)
		return pg_strdup(options->subscription_conninfo);
	if (connection_is_local(source_conn) && !connection_is_local(target_conn))
	{
		pg_log_error("the target server cannot use the connection string of the source");
		pg_log_error_detail("The source is on this machine, but the target is not.");
		pg_fatal_hint("Use --subscription-conninfo to specify how the target server connects to the source.");
	}
	return default_conninfo(source_conn);
}

/* ----------
 * Creating and dropping the subscription.
 * ----------
 */

/* How long to wait until the subscription streams, and how often to check. */
#define STREAM_WAIT_MS 20000
#define STREAM_LOOK_MS 200

struct Subscription
{
	const char *name;			/* borrowed from the options */
	const PeerAddress *target_address;
	const LogicalSlot *slot;
	const Options *options;
	char	   *conninfo;		/* for the target's server; may contain a
								 * secret */
	PGconn	   *conn;			/* a session on the target, or NULL */
};

/* ----------
 * Sessions on the target.
 * ----------
 */

/*
 * Settings of these sessions.  Notices are not needed.  A superuser can keep
 * a password out of the log.  The commit does not wait for standbys, so if
 * the session is lost during the commit, the commit soon either succeeds or
 * fails.
 */
static const char quiet_query[] =
"SELECT pg_catalog.set_config(s.name, v.setting, false)"
" FROM pg_catalog.pg_settings s JOIN (VALUES"
" ('client_min_messages', 'error'),"
" ('statement_timeout', '0'), ('lock_timeout', '0'),"
" ('idle_in_transaction_session_timeout', '0'),"
" ('idle_session_timeout', '0'), ('transaction_timeout', '0'),"
" ('default_transaction_read_only', 'off'), ('synchronous_commit', 'local'),"
" ('tcp_keepalives_idle', '30'), ('tcp_keepalives_interval', '10'),"
" ('tcp_keepalives_count', '6'),"
" ('log_statement', 'none'), ('log_min_error_statement', 'panic'),"
" ('log_min_duration_statement', '-1'), ('log_min_duration_sample', '-1'),"
" ('log_transaction_sample_rate', '0'),"
" ('debug_print_parse', 'off'), ('debug_print_rewritten', 'off'),"
" ('track_activities', 'off'), ('pg_stat_statements.track_utility', 'off'),"
" ('pgaudit.log', 'none')"
") v (name, setting) ON v.name OPERATOR(pg_catalog.=) s.name"
" WHERE s.context OPERATOR(pg_catalog.<>) 'superuser'"
" OR pg_catalog.current_setting('is_superuser') OPERATOR(pg_catalog.=) 'on'";

static void
open_session(Subscription *subscription)
{
	PGconn	   *conn = connection_open_peer(subscription->target_address,
											"pg_pardump");
	bool		begun;

	subscription->conn = conn;
	begun = session_begin_settings(conn);
	PQclear(session_query(conn, ALWAYS_SECURE_SEARCH_PATH_SQL));
	PQclear(session_query(conn, quiet_query));
	session_end_settings(conn, begun);
	setFmtEncoding(PQclientEncoding(conn));
}

/* Close the session, which rolls back an open transaction. */
static void
close_session(Subscription *subscription)
{
	interrupt_set_connection(NULL);
	session_close(subscription->conn);
	subscription->conn = NULL;
}

/*
 * Run CREATE SUBSCRIPTION in a transaction, which stays open.  The defaults
 * connect = true and enabled = true apply, so the server reads which tables
 * are published.  PQexec() is used because the message of session_query()
 * would contain the statement.
 */
static PGresult *
create_in_transaction(const Subscription *subscription)
{
	PQExpBufferData sql = buffer_new();
	int			n;
	char	  **names = publication_names(subscription->options, &n);

	appendPQExpBuffer(&sql, "CREATE SUBSCRIPTION %s CONNECTION ",
					  fmtId(subscription->name));
	appendStringLiteralConn(&sql, subscription->conninfo, subscription->conn);
	appendPQExpBufferStr(&sql, " PUBLICATION ");
	for (int i = 0; i < n; i++)
		appendPQExpBuffer(&sql, "%s%s", i > 0 ? ", " : "", fmtId(names[i]));
	appendPQExpBuffer(&sql, " WITH (create_slot = false, slot_name = '%s', copy_data = false)",
					  subscription->slot->name);
	session_begin(subscription->conn, "BEGIN");
	return PQexec(subscription->conn, buffer_text(&sql));
}

/*
 * Exit with the server's message about CREATE SUBSCRIPTION, without the
 * statement.
 */
static void
create_failed(const Subscription *subscription, const PGresult *res)
{
	interrupt_check();
	pg_log_error("could not create subscription \"%s\" on the target: %s",
				 subscription->name, PQerrorMessage(subscription->conn));

	/*
	 * Class 08 is a connection exception, here of the server's connection to
	 * the source.
	 */
	if (session_error_is(res, "08"))
	{
		if (subscription->options->subscription_conninfo == NULL)
			pg_log_error_detail("The target server connects to the source with \"%s\".",
								subscription->conninfo);
		pg_log_error_hint("Use --subscription-conninfo to specify how the target server connects to the source, including a password if one is needed.");
	}
	exit(1);
}

/*
 * Check that the subscription connects to the source: the source publishes
 * tables, so a server that publishes none is another one.
 */
static void
check_server(const Subscription *subscription)
{
	const char *params[] = {subscription->name};
	PGresult   *res = session_query_params(subscription->conn,
										   "SELECT 1 FROM pg_catalog.pg_subscription_rel r"
										   " JOIN pg_catalog.pg_subscription s ON s.oid OPERATOR(pg_catalog.=) r.srsubid"
										   " JOIN pg_catalog.pg_database d ON d.oid OPERATOR(pg_catalog.=) s.subdbid"
										   " WHERE s.subname OPERATOR(pg_catalog.=) $1"
										   " AND d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database() LIMIT 1",
										   1, params, 0);

	if (PQntuples(res) == 0)
	{
		pg_log_error("the server that the subscription connects to does not publish any tables");
		pg_log_error_detail("The connection string of the subscription does not lead to the source server and database.");
		pg_fatal_hint("Use --subscription-conninfo to specify how the target server connects to the source.");
	}
	PQclear(res);
}

/* ----------
 * Testing before anything is copied.
 * ----------
 */

/* Check that the target allows a worker and a replication origin. */
static void
check_settings(PGconn *conn)
{
	PGresult   *res = session_query(conn,
									"SELECT name FROM pg_catalog.pg_settings"
									" WHERE name OPERATOR(pg_catalog.=) ANY"
									" ('{max_logical_replication_workers,max_worker_processes,"
									"max_active_replication_origins}')"
									" AND setting OPERATOR(pg_catalog.=) '0' ORDER BY name");

	if (PQntuples(res) > 0)
	{
		pg_log_error("a subscription requires %s to be greater than 0 on the target",
					 PQgetvalue(res, 0, 0));
		pg_fatal_hint("Run ALTER SYSTEM SET %s = 10; and restart the target server.",
					  PQgetvalue(res, 0, 0));
	}
}

Subscription *
subscription_try(PGconn *source_conn, const PeerAddress *target_address,
				 const LogicalSlot *slot, const Options *options)
{
	Subscription *subscription = pg_malloc0(sizeof(Subscription));
	PGresult   *res;

	subscription->name = options->create_subscription;
	subscription->target_address = target_address;
	subscription->slot = slot;
	subscription->options = options;
	open_session(subscription);
	subscription->conninfo = subscription_conninfo(source_conn,
												   subscription->conn,
												   options);
	check_settings(subscription->conn);

	res = create_in_transaction(subscription);

	/*
	 * 42P01 is undefined_table, 3F000 invalid_schema_name, and 42809
	 * wrong_object_type: the server has read which tables the source
	 * publishes, and the target does not have them yet.
	 */
	if (PQresultStatus(res) == PGRES_COMMAND_OK)
		check_server(subscription);
	else if (!session_error_is(res, "42P01 3F000 42809"))
		create_failed(subscription, res);
	PQclear(res);
	close_session(subscription);
	return subscription;
}

/* ----------
 * Creating the subscription after everything is copied.
 * ----------
 */

/*
 * A subscription that uses our slot is ours, even if COMMIT was not answered.
 */
static const char find_query[] =
"SELECT 1 FROM pg_catalog.pg_subscription s"
" JOIN pg_catalog.pg_database d ON d.oid OPERATOR(pg_catalog.=) s.subdbid"
" WHERE s.subname OPERATOR(pg_catalog.=) $1"
" AND s.subslotname OPERATOR(pg_catalog.=) $2"
" AND d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()";

/*
 * Returns true if the subscription does not exist any more; otherwise, conn
 * has the error.  The slot is removed from the subscription first, so that it
 * can be dropped even if the source cannot be reached: DROP SUBSCRIPTION
 * would connect to the source to drop the slot.  A subscription must be
 * disabled before its slot can be removed.
 */
static bool
disable_and_drop(PGconn *conn, const Subscription *subscription)
{
	static const char *const statements[][2] = {
		{"ALTER SUBSCRIPTION", "DISABLE"},
		{"ALTER SUBSCRIPTION", "SET (slot_name = NONE)"},
		{"DROP SUBSCRIPTION", ""}
	};
	const char *params[] = {subscription->name, subscription->slot->name};
	PGresult   *res;
	bool		ok;

	if (PQstatus(conn) != CONNECTION_OK)
		return false;
	PQclear(PQexec(conn, quiet_query));
	res = PQexecParams(conn, find_query, 2, NULL, params, NULL, NULL, 0);
	ok = PQresultStatus(res) == PGRES_TUPLES_OK;
	if (ok && PQntuples(res) == 0)
	{
		PQclear(res);
		return true;
	}
	PQclear(res);
	for (int i = 0; ok && i < (int) lengthof(statements); i++)
	{
		res = PQexec(conn, psprintf("%s %s %s", statements[i][0],
									fmtId(subscription->name), statements[i][1]));
		ok = PQresultStatus(res) == PGRES_COMMAND_OK;
		PQclear(res);
	}
	return ok;
}

/*
 * An exit callback that drops the subscription after a failure.  The slot is
 * dropped after it.
 */
static void
subscription_drop_at_exit(void *arg)
{
	const Subscription *subscription = arg;
	PGconn	   *conn;

	interrupt_set_connection(NULL);
	conn = connection_try_peer(subscription->target_address, "pg_pardump");
	if (!disable_and_drop(conn, subscription))
	{
		const char *name = fmtId(subscription->name);

		pg_log_error("could not drop subscription \"%s\", which was created by this run: %s",
					 subscription->name, connection_words(conn));
		pg_log_error_hint("If it exists on the target, drop it there: ALTER SUBSCRIPTION %s DISABLE; ALTER SUBSCRIPTION %s SET (slot_name = NONE); DROP SUBSCRIPTION %s;",
						  name, name, name);
	}
	PQfinish(conn);
}

/*
 * Wait until the slot on the source is active, or warn the user.  Until then,
 * errors of the subscription's worker are only in the log of the target's
 * server.
 */
static void
wait_for_stream(const Subscription *subscription)
{
	int64		deadline = clock_monotonic_ms() + STREAM_WAIT_MS;

	/*
	 * The loop has a deadline because a query to a slow source may take
	 * longer than the pause.
	 */
	do
	{
		if (logical_slot_is_active(subscription->slot))
			return;
		interrupt_check();
		pg_usleep(STREAM_LOOK_MS * 1000L);
	} while (clock_monotonic_ms() < deadline);
	pg_log_warning("subscription \"%s\" is not streaming yet",
				   subscription->name);
	pg_log_warning_hint("See the log of the target server for the reason.  The target server retries every few seconds.");
}

/*
 * Execute CREATE SUBSCRIPTION, and leave the transaction open.  If the target
 * cannot be reached, or the target's server cannot reach the source, this
 * calls session_lost(), unless it is the last attempt.
 */
static void
begin_create(Subscription *subscription, bool last_try)
{
	PGresult   *res;

	open_session(subscription);
	res = create_in_transaction(subscription);
	if (PQresultStatus(res) != PGRES_COMMAND_OK)
	{
		interrupt_check();
		if (!last_try && session_is_lost(subscription->conn, res))
			session_lost(PQerrorMessage(subscription->conn));
		create_failed(subscription, res);
	}
	PQclear(res);
	check_server(subscription);
}

static void
try_create(void *arg)
{
	begin_create(arg, false);
}

/* Retry after lost connections, because the copy may have taken hours. */
static void
create_with_retries(Subscription *subscription)
{
	const int	max_retries = (int) subscription->options->retries;
	Retry		retry = {0};

	while (retry.n < max_retries)
	{
		char	   *cause = session_try(try_create, subscription);
		int			delay_ms;

		if (cause == NULL)
			return;
		close_session(subscription);
		delay_ms = retry_later(&retry);
		pg_log_warning("could not create the subscription; retry %d of %d in %.1f s",
					   retry.n, max_retries, delay_ms / 1000.0);
		pg_log_warning_detail("%s", message_sentence(cause));
		pg_usleep(delay_ms * 1000L);
		interrupt_check();
	}
	begin_create(subscription, true);
}

/*
 * Create the subscription.  The slot is checked first: if it was lost
 * meanwhile, the subscription could still be created, but its worker would
 * fail again and again, with messages only in the target's log.
 */
static void
create_subscription(Subscription *subscription)
{
	PGresult   *res;

	if (!logical_slot_recheck(subscription->slot, NULL))
	{
		pg_log_error("subscription \"%s\" cannot be created without its slot",
					 subscription->name);
		pg_fatal_hint("Run the same command again, into an empty database or with --clean.");
	}
	create_with_retries(subscription);
	/* Register this before the COMMIT, because its answer may be lost. */
	cleanup_push(subscription_drop_at_exit, subscription);

	/*
	 * A signal must not cancel this statement: the exit callback must find
	 * either the committed subscription or none.
	 */
	res = PQexec(subscription->conn, "COMMIT");
	if (PQresultStatus(res) != PGRES_COMMAND_OK)
		session_failed(subscription->conn, res, "query failed", "COMMIT");
	PQclear(res);
	close_session(subscription);
	wait_for_stream(subscription);
}

void
subscription_go_on(Subscription *subscription, const LogicalSlot *slot)
{
	if (slot == NULL)
		return;
	if (subscription)
		create_subscription(subscription);
	else
		(void) logical_slot_recheck(slot,
									"If they are needed, copy again, into an empty database or with --clean.");
	logical_slot_print(slot);
	if (subscription)
		fprintf(event_log_text_output(),
				"created subscription \"%s\", which starts at this LSN\n",
				subscription->name);
	fflush(event_log_text_output());
}
