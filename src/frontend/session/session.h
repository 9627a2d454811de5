/*
 * session.h
 *		Runs statements in a session, for all programs.
 *
 * A session is a connection to a server (a PGconn) with our settings
 * (session_settings.h).  After a lost connection, a new connection is another
 * session.  These functions work with any session: on the source, where
 * leader and workers share a snapshot (source/source.h), and on the target.
 */
#ifndef SESSION_H
#define SESSION_H

#include "libpq-fe.h"
#include "pqexpbuffer.h"

/*
 * Run a statement that returns rows (query) or none (command).  Ends with
 * session_failed() (session_lost.h) on an error.
 */
extern PGresult *session_query(PGconn *conn, const char *sql);
extern PGresult *session_query_params(PGconn *conn, const char *sql,
									  int n_params, const char *const *params,
									  int result_format);
extern void session_command(PGconn *conn, const char *sql);

/*
 * The first value that a query returns ("" for NULL; owned), and whether it
 * is true.
 */
extern char *session_value(PGconn *conn, const char *sql);
extern bool session_is_true(PGconn *conn, const char *sql);

/*
 * A value of a result: a bool, which is false for NULL; an OID; a number that
 * is not negative.
 */
extern bool result_is_true(const PGresult *res, int row, int column);
extern Oid	result_oid(const PGresult *res, int row, int column);
extern uint64 result_number(const PGresult *res, int row, int column);

/*
 * A number in a result that is the number of an element of an array.  Exits
 * with a message unless it is within these limits, because a wrong server
 * must not make us read outside the array.
 */
extern int	session_number(const PGresult *res, int row, int column, int least,
						   int most);

/*
 * An answer does not have the form that the statement asks for: end the
 * process.  detail is a sentence.  The second function is for an answer that
 * only the functions of the extension could give.
 */
pg_noreturn extern void session_unexpected(const char *detail);
pg_noreturn extern void session_unexpected_extension(const char *detail);

/* Exits with a message unless the result has a row for each of n tables. */
extern void session_expect_tables(const PGresult *res, int n);

/*
 * The elements of an array of numbers in the first row of a result, and their
 * count; owned.  NULL if the value is not such an array.
 */
extern int64 *session_numbers(const PGresult *res, int column, int *n);

/* ----------
 * Statements that all sessions have in common
 *
 * pg_stat_statements makes one entry for all queries that differ only in
 * their constants.  Before PostgreSQL 18, utility statements that differ in a
 * constant get separate entries.  So that a run adds few entries, a statement
 * for the same purpose has the same text everywhere: the one here, or the one
 * that pg_dump and pg_restore use.
 * ----------
 */

/*
 * Changes a setting of the session, or of the transaction.  It is a query,
 * not SET, which is a utility statement.
 */
#define SESSION_SET(name, value) \
"SELECT pg_catalog.set_config('" name "', '" value "', false)"
#define SESSION_SET_LOCAL(name, value) \
"SELECT pg_catalog.set_config('" name "', '" value "', true)"

/* Append such a query with a value that is not a constant to sql. */
extern void session_append_set(PQExpBuffer sql, PGconn *conn, const char *name,
							   const char *value, bool is_local);
extern void session_set(PGconn *conn, const char *name, const char *value,
						bool is_local);

/* A text as a literal; owned. */
extern char *session_literal(PGconn *conn, const char *text);

/*
 * A query for settings that the server may not know.  The list is the
 * contents of an array literal: "name=value" changes the session's setting,
 * "name" only reads it.  The columns contain the values before the change, as
 * pg_settings shows them.
 */
#define SESSION_KNOWN_SETTINGS(list) \
"SELECT s.name, s.setting, s.source, CASE WHEN pg_catalog.strpos(v, '=') OPERATOR(pg_catalog.>) 0" \
" THEN pg_catalog.set_config(s.name, pg_catalog.split_part(v, '=', 2), false) END" \
" FROM pg_catalog.unnest('{" list "}'::pg_catalog.text[]) v" \
" JOIN pg_catalog.pg_settings s ON s.name OPERATOR(pg_catalog.=) pg_catalog.split_part(v, '=', 1)"
enum
{
	SETTING_NAME,
	SETTING_VALUE,				/* before the change, in the setting's unit */
	SETTING_SOURCE
};

/*
 * All savepoints have the same name.  The inner one of two hides the outer
 * one, so it must be released before the outer one can be used again.
 */
#define SESSION_SAVEPOINT "SAVEPOINT pardump"
#define SESSION_ROLLBACK_TO "ROLLBACK TO SAVEPOINT pardump"
#define SESSION_RELEASE "RELEASE SAVEPOINT pardump"

/* A transaction that only reads, as pg_dump begins it. */
#define SESSION_BEGIN_READ_ONLY \
"BEGIN; SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"

/*
 * May the role call all of these functions, with semicolons between them?
 * False if the server does not have one.
 */
#define SESSION_MAY_EXECUTE(functions) \
"SELECT pg_catalog.bool_and(COALESCE(pg_catalog.has_function_privilege(" \
"pg_catalog.to_regprocedure(name), 'EXECUTE'), false))" \
" FROM pg_catalog.unnest(pg_catalog.string_to_array('" functions "', ';')) name"
extern bool session_may_execute(PGconn *conn, const char *functions);

/*
 * Which session is this?  The columns are the process ID of the backend
 * (through a pooler, PQbackendPID() returns another number), the start time
 * of the server in microseconds since 1970 (two servers may use the same
 * process IDs, for example in containers), the snapshot with the running
 * transactions, the marker, whether the role may call pg_control_system(),
 * and the other functions of pg_control, too, and whether the server is in
 * recovery.
 */
extern const char session_self_query[];
enum
{
	SELF_BACKEND,
	SELF_SERVER_START,
	SELF_SNAPSHOT,
	SELF_MARKER,
	SELF_MAY_IDENTIFY,
	SELF_MAY_READ_CONTROL,
	SELF_IN_RECOVERY
};

/* The first of these columns. */
extern int	session_backend(PGconn *conn);

extern const char session_recovery_query[];

/* ----------
 * Transactions, and poolers
 *
 * A pooler may give each transaction of a client to another backend
 * (PgBouncer's pool_mode = transaction).  Then our settings are missing in
 * the backend that reads or loads rows, so that rows are wrong without an
 * error; and another client of the pooler gets our settings.  So each session
 * has a marker: the setting pardump.session, whose value no other session
 * has.  session_begin() asks for it in the query string of BEGIN.  The whole
 * string reaches one backend, and needs no further round trip.  The query is
 * SHOW, which takes no snapshot; after a SELECT, SET TRANSACTION SNAPSHOT
 * would fail.
 *
 * Settings are made between session_begin_settings() and
 * session_end_settings(): in a transaction that has found the marker.  So
 * exactly the backends with the marker have our settings.  A setting for one
 * transaction only is SET LOCAL.
 *
 * If the marker is missing, or has another value, the program ends with a
 * message.
 * ----------
 */

/*
 * Begins a transaction for settings.  It does not wait for a safe snapshot
 * (default_transaction_deferrable), and short timeouts of the role do not end
 * it.
 */
#define SESSION_BEGIN_SETTINGS \
SESSION_BEGIN_READ_ONLY "; " SESSION_SET_LOCAL("statement_timeout", "0") "; " \
SESSION_SET_LOCAL("idle_in_transaction_session_timeout", "0")

/*
 * Begin a transaction with this statement, or with several that take no
 * snapshot.  The session has a marker afterwards.  Ends with session_failed()
 * on an error.  session_begin_unwatched() is for sessions on the target,
 * whose waits are not watched (see session_lost.h).
 */
extern void session_begin(PGconn *conn, const char *sql);
extern void session_begin_unwatched(PGconn *conn, const char *sql);

/*
 * Begin a transaction in this way, but return false if it fails or there is
 * no answer in time.  A wait_ms of -1 means no limit, and a watched wait.
 */
extern bool session_try_begin(PGconn *conn, const char *sql, int wait_ms);

/*
 * Call these before and after statements that change settings of the session.
 * session_begin_settings() returns whether it has begun a transaction;
 * session_end_settings() needs the answer.  Within a transaction of the
 * caller's both do nothing.
 */
extern bool session_begin_settings(PGconn *conn);
extern void session_end_settings(PGconn *conn, bool begun);

/* Both calls, with these statements in between, in fewer round trips. */
extern void session_command_settings(PGconn *conn, const char *sql);

/*
 * Look n_tries times whether a pooler gives transactions to other backends;
 * exits with a message if it does.  The other session is on the same server,
 * and was opened in the same way.  Neither session has any of our settings
 * yet.  Returns false if the other session does not answer in time.
 */
extern bool session_probe(PGconn *conn, PGconn *other, int n_tries);

/*
 * End a session that is not lost, and undo its settings, because a pooler
 * gives the backend to other clients.  Uncommitted changes are rolled back.
 * conn may be NULL.
 */
extern void session_close(PGconn *conn);

/*
 * End a session in this way, and wait a moment until its place among the
 * server's connections is free again.
 */
extern void session_close_and_wait(PGconn *conn);

/* PQexec(), watched (see session_lost.h). */
extern PGresult *session_exec(PGconn *conn, const char *sql);

/*
 * PQexec() for statements that take no time.  Returns NULL if there is no
 * answer in time, or no connection.
 */
extern PGresult *session_exec_within(PGconn *conn, const char *sql,
									 int wait_ms);

/*
 * Reads the end of a statement's results after its only result.  Exits with a
 * message if there is another result: a COPY that no statement of ours has
 * begun would give the same result again and again.
 */
extern void session_end_results(PGconn *conn);

/* Does this idle session answer in time?  conn may be NULL. */
extern bool session_answers(PGconn *conn);

/*
 * Has the server ended an idle session, as far as its message has arrived?
 * Reads what has arrived, so that the notice receiver gets the server's last
 * message.
 */
extern bool session_has_ended(PGconn *conn);

/*
 * Run a short query in a savepoint, so that an error, which is returned, does
 * not end the transaction.  Begin the query with SESSION_FRESH_ACTIVITY if it
 * reads activities of other sessions, because a transaction sees the first
 * answer again otherwise.  The query runs as the user who connected, since
 * the role of --role may not see other sessions.  *lost is set if there is no
 * answer in time, or the session has ended.
 */
#define SESSION_FRESH_ACTIVITY "SELECT pg_catalog.pg_stat_clear_snapshot(); "
extern PGresult *session_look(PGconn *conn, const char *query, int wait_ms,
							  bool *lost);

/* ----------
 * Array literals of texts or OIDs, for the parameters of queries.
 * ----------
 */

/*
 * An array literal of the texts, in the session's client encoding; owned.  A
 * text that the server's encoding cannot represent, such as the name of a
 * database in SQL_ASCII, is replaced by a name that no object has, so that it
 * does not make the whole query fail.  (See PQescapeLiteral() and
 * mb/pg_wchar.h.)
 */
extern char *text_array(PGconn *conn, char *const *texts, int n);

/* Returns an array literal of the OIDs; the caller owns it. */
extern char *oid_array(const Oid *oids, int n);

/* Can the server's encoding represent this text, which is in the client's? */
extern bool text_is_convertible(PGconn *conn, const char *text);

/* ----------
 * The names of the extension pg_pardump and of its objects.
 * ----------
 */

#define PARDUMP_EXTENSION "pg_pardump"

/* Its schema, which is always the same, needs no quoting. */
#define PARDUMP_SCHEMA "pardump"
#define PARDUMP_CHUNKS PARDUMP_SCHEMA ".pg_pardump_chunks"
#define PARDUMP_READ PARDUMP_SCHEMA ".pg_pardump_read"
#define PARDUMP_LAST_READ PARDUMP_SCHEMA ".pg_pardump_last_read"
#define PARDUMP_FINGERPRINT PARDUMP_SCHEMA ".pg_pardump_fingerprint"
#define PARDUMP_DEFINITION PARDUMP_SCHEMA ".pg_pardump_definition"
#define PARDUMP_FINGERPRINT_READS PARDUMP_SCHEMA ".pg_pardump_fingerprint_reads"
#define PARDUMP_LAST_FINGERPRINT PARDUMP_SCHEMA ".pg_pardump_last_fingerprint"
#define PARDUMP_RAW_REASON PARDUMP_SCHEMA ".pg_pardump_raw_reason"
#define PARDUMP_LOAD_TUPLES PARDUMP_SCHEMA ".pg_pardump_load_tuples"
#define PARDUMP_READ_FILES PARDUMP_SCHEMA ".pg_pardump_read_files"
#define PARDUMP_LAST_FILES PARDUMP_SCHEMA ".pg_pardump_last_files"
#define PARDUMP_FILE_TYPE PARDUMP_SCHEMA ".pg_pardump_file_type"
#define PARDUMP_EXPORTED_SNAPSHOT PARDUMP_SCHEMA ".pg_pardump_exported_snapshot"
#define PARDUMP_ADOPT_SNAPSHOT PARDUMP_SCHEMA ".pg_pardump_adopt_snapshot"
#define PARDUMP_NOTE_DUMP PARDUMP_SCHEMA ".pg_pardump_note_dump"

/* A table of the extension. */
#define PARDUMP_HISTORY PARDUMP_SCHEMA ".pg_pardump_history"

/* ----------
 * Finds a table by its name, even if the role has no privileges on it.
 * ----------
 */

/*
 * An expression in a query: the OID of the table or index whose name, with
 * its schema and quoted where that is needed, is the value of the given
 * expression of type text; NULL if there is none.  to_regclass() would raise
 * an error if the role has no USAGE on the schema.  That error would end the
 * query for all tables, while COPY, ANALYZE and ALTER TABLE report it for
 * their own table only.
 */
#define TABLE_OID_OF(name) \
"(SELECT its_class.oid FROM pg_catalog.pg_class its_class" \
" JOIN pg_catalog.pg_namespace its_schema" \
" ON its_schema.oid OPERATOR(pg_catalog.=) its_class.relnamespace" \
" WHERE its_schema.nspname OPERATOR(pg_catalog.=)" \
" (pg_catalog.parse_ident(" name "))[1]::pg_catalog.name" \
" AND its_class.relname OPERATOR(pg_catalog.=)" \
" (pg_catalog.parse_ident(" name "))[2]::pg_catalog.name)"

/* ----------
 * Queries about the backends of our sessions.
 * ----------
 */

/*
 * A query that returns a row if the backend is working, and none if it waits
 * for its client, is idle, or has ended.  Owned.
 */
extern char *backend_query_at_work(int backend);

/*
 * A statement that ends the backend.  It spares a backend that is younger
 * than the given number of seconds, because the server may have given the
 * process ID to another session meanwhile.  Owned.
 */
extern char *backend_query_terminate(int backend, int min_age_s);

/*
 * A query for the backends in this list ("1,2") which wait for a lock,
 * directly or through other sessions, behind the leader, or behind an idle
 * backend of the list.  leader is an SQL expression for the leader's process
 * ID.  The result is the locked relation, and the next process in the queue.
 * Owned.
 */
extern char *backend_query_deadlock(const char *backends, const char *leader);

#endif							/* SESSION_H */
