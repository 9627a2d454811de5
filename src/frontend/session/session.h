/*
 * session.h
 *		Runs statements in a session.
 *
 * A session is a connection to a server, a PGconn, with the settings that we
 * need (session_settings.h); one that is lost is another one once it is
 * connected again.  These are for any of them: on the source, whose leader
 * and workers share a snapshot (source/source.h), and on the target.
 */
#ifndef SESSION_H
#define SESSION_H

#include "libpq-fe.h"
#include "pqexpbuffer.h"

/*
 * Run a statement that returns rows (query) or none (command).  Ends by
 * session_failed() (session_lost.h) when it fails.
 */
extern PGresult *session_query(PGconn *conn, const char *sql);
extern PGresult *session_query_params(PGconn *conn, const char *sql,
									  int n_params, const char *const *params,
									  int result_format);
extern void session_command(PGconn *conn, const char *sql);

/*
 * The first value that a query returns, and whether that is true.  The value
 * is "" for NULL; owned.
 */
extern char *session_value(PGconn *conn, const char *sql);
extern bool session_is_true(PGconn *conn, const char *sql);

/* A value of a result: a bool, false for NULL; an OID; a number from 0. */
extern bool result_is_true(const PGresult *res, int row, int column);
extern Oid	result_oid(const PGresult *res, int row, int column);
extern uint64 result_number(const PGresult *res, int row, int column);

/*
 * A number of a result, which stands for one of an array.  Exits with a
 * message unless it is within these limits.
 */
extern int	session_number(const PGresult *res, int row, int column, int least,
						   int most);

/*
 * An answer does not have the form that the statement asks for: end the
 * process.  detail is a sentence.
 */
pg_noreturn extern void session_unexpected(const char *detail);

/* Exits with a message unless the result has a row for each of n tables. */
extern void session_expect_tables(const PGresult *res, int n);

/*
 * The numbers of an array in the first row of a result, and how many; owned.
 * NULL if the value is not an array of numbers.
 */
extern int64 *session_numbers(const PGresult *res, int column, int *n);

/* ----------
 * Statements that all sessions have in common
 *
 * An entry of pg_stat_statements is a statement without its constants if it
 * is a query, but before PostgreSQL 18 with them if it is a utility
 * statement.  So that a run adds few, one thing has one text: here, or as
 * pg_dump and pg_restore write it.
 * ----------
 */

/* A setting of the session, or of the transaction: a query, unlike SET. */
#define SESSION_SET(name, value) \
"SELECT pg_catalog.set_config('" name "', '" value "', false)"
#define SESSION_SET_LOCAL(name, value) \
"SELECT pg_catalog.set_config('" name "', '" value "', true)"

/* The same with a value that is not a constant; appended to sql. */
extern void session_append_set(PQExpBuffer sql, PGconn *conn, const char *name,
							   const char *value, bool is_local);
extern void session_set(PGconn *conn, const char *name, const char *value,
						bool is_local);

/* A text as a literal; owned. */
extern char *session_literal(PGconn *conn, const char *text);

/*
 * A query for settings that a server may not know.  The list is the inside of
 * an array literal.  Of "name=value" it sets the session's setting, of "name"
 * it only reads it.  The columns are as pg_settings has them before.
 */
#define SESSION_KNOWN_SETTINGS(list) \
"SELECT s.name, s.setting, s.source, CASE WHEN pg_catalog.strpos(v, '=') OPERATOR(pg_catalog.>) 0" \
" THEN pg_catalog.set_config(s.name, pg_catalog.split_part(v, '=', 2), false) END" \
" FROM pg_catalog.unnest('{" list "}'::pg_catalog.text[]) v" \
" JOIN pg_catalog.pg_settings s ON s.name OPERATOR(pg_catalog.=) pg_catalog.split_part(v, '=', 1)"
enum
{
	SETTING_NAME,
	SETTING_VALUE,				/* in the setting's unit */
	SETTING_SOURCE
};

/*
 * All savepoints have one name.  What is within two of them belongs to the
 * inner one, so each is released before the outer one is used again.
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
 * Which session is this: its backend's process (a pooler tells PQbackendPID()
 * another number), when the server was started (two servers may have the same
 * process numbers, e.g. in containers), the transactions that its snapshot
 * sees as running, its marker, and whether the role may call
 * pg_control_system(), and the other functions of pg_control, too.
 */
extern const char session_self_query[];
enum
{
	SELF_BACKEND,
	SELF_SERVER_START,
	SELF_SNAPSHOT,
	SELF_MARKER,
	SELF_MAY_IDENTIFY,
	SELF_MAY_READ_CONTROL
};

/* The first of these. */
extern int	session_backend(PGconn *conn);

extern const char session_recovery_query[];

/* ----------
 * Transactions, and what a pooler makes of them
 *
 * A pooler may give each transaction of a client to another backend
 * (PgBouncer's pool_mode = transaction).  Then our settings are missing where
 * rows are read or loaded, so that rows are silently wrong, and another
 * client of the pooler has our settings.  So each session has a marker: the
 * setting pardump.session, whose value no other session has.  session_begin()
 * asks for it in the query string of BEGIN, which reaches one backend, and
 * without a round trip more.  SHOW takes no snapshot; after a SELECT there
 * SET TRANSACTION SNAPSHOT would fail.
 *
 * Settings are made within session_begin_settings() and
 * session_end_settings(): in a transaction that has found the marker.  So
 * a backend with the marker has our settings, too, and no other backend has
 * them.  A setting that belongs to one transaction is SET LOCAL.
 *
 * If the marker is missing, or has another value, the program ends with a
 * message.
 * ----------
 */

/*
 * Begins a transaction for settings.  It waits for no safe snapshot, and the
 * role's timeouts, which may be short, do not end it.
 */
#define SESSION_BEGIN_SETTINGS \
SESSION_BEGIN_READ_ONLY "; " SESSION_SET_LOCAL("statement_timeout", "0") "; " \
SESSION_SET_LOCAL("idle_in_transaction_session_timeout", "0")

/*
 * Begin a transaction with this statement, or with more that take no
 * snapshot; after it the session has a marker.  Ends by session_failed() when
 * it fails.  The second is not watched (see session_lost.h), for sessions on
 * the target.
 */
extern void session_begin(PGconn *conn, const char *sql);
extern void session_begin_unwatched(PGconn *conn, const char *sql);

/*
 * The same, but false if it fails, or there is no answer in time; -1 means no
 * limit, and watched.
 */
extern bool session_try_begin(PGconn *conn, const char *sql, int wait_ms);

/*
 * Around statements that make settings of the session.  Returns whether it
 * has begun a transaction, which is for the other one: within a transaction
 * of the caller's both do nothing.
 */
extern bool session_begin_settings(PGconn *conn);
extern void session_end_settings(PGconn *conn, bool begun);

/* The same around one, or several, in one round trip less. */
extern void session_command_settings(PGconn *conn, const char *sql);

/*
 * Look n_tries times, with another session on the same server that was opened
 * in the same way, whether a pooler gives transactions to other backends:
 * exits with a message if so.  Neither has any setting of ours yet.  False if
 * the other one does not answer in time.
 */
extern bool session_probe(PGconn *conn, PGconn *other, int n_tries);

/*
 * End a session that is not lost: its settings with it, as a pooler gives the
 * backend to other clients.  What is not committed is rolled back.  conn may
 * be NULL.
 */
extern void session_close(PGconn *conn);

/* The same, and wait a moment until others can have its place. */
extern void session_close_and_wait(PGconn *conn);

/* PQexec(), watched (see session_lost.h). */
extern PGresult *session_exec(PGconn *conn, const char *sql);

/*
 * PQexec() for statements that are done at once.  NULL if there is no answer
 * in time, or no connection.
 */
extern PGresult *session_exec_within(PGconn *conn, const char *sql,
									 int wait_ms);

/*
 * Takes what follows the only result of a statement, which is nothing.  Exits
 * with a message if there is more: a COPY that no statement of ours has begun
 * would give the same result again and again.
 */
extern void session_end_results(PGconn *conn);

/*
 * Does it answer in time?  A session that has nothing else to do, and may be
 * NULL.
 */
extern bool session_answers(PGconn *conn);

/*
 * Has the server ended an idle session, as far as that has arrived?  Reads
 * what has: the server's last word goes to the notice receiver.
 */
extern bool session_has_ended(PGconn *conn);

/*
 * What a short query returns, which may be an error, and does no harm to the
 * transaction.  The query begins with SESSION_FRESH_ACTIVITY if it reads what
 * other sessions do, of which a transaction keeps what it has read once.  It
 * runs as the user who connected, since those of --role may not see other
 * sessions.  *lost is set if there is no answer in time, or the session has
 * ended.
 */
#define SESSION_FRESH_ACTIVITY "SELECT pg_catalog.pg_stat_clear_snapshot(); "
extern PGresult *session_look(PGconn *conn, const char *query, int wait_ms,
							  bool *lost);

/* ----------
 * Texts, or OIDs, as the value of a parameter.
 * ----------
 */

/*
 * An array literal of them, in the session's client encoding; owned.  A text
 * that the server's encoding does not have, as a name of a database in
 * SQL_ASCII, is replaced by one that no object has, so that it does not make
 * the whole query fail.  (PQescapeLiteral() and mb/pg_wchar.h.)
 */
extern char *text_array(PGconn *conn, char *const *texts, int n);

/* The same of OIDs. */
extern char *oid_array(const Oid *oids, int n);

/* Can the server's encoding have this text, which is in the client's? */
extern bool text_is_convertible(PGconn *conn, const char *text);

/* ----------
 * What the extension pg_pardump has, by its names.
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

/* A table of it. */
#define PARDUMP_HISTORY PARDUMP_SCHEMA ".pg_pardump_history"

/* ----------
 * Finds a table by its name, whether or not the role has privileges on
 * it.
 * ----------
 */

/*
 * In a query: the OID of the table or index that this expression, of type
 * text, names with its schema, quoted where that is needed; NULL if there is
 * none.  to_regclass() would be an error if the role has no USAGE on the
 * schema, where COPY, ANALYZE and ALTER TABLE are to report it, each of its
 * own table.
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
 * Queries for what the server's processes for our sessions do.
 * ----------
 */

/*
 * A query for the backend, which finds it if it is at work, and not if it
 * waits for its client, or for nothing, or is gone.  Owned.
 */
extern char *backend_query_at_work(int backend);

/*
 * A statement that ends the backend, unless it is younger than the given
 * number of seconds, and so another one that the server gave the same process
 * ID.  Owned.
 */
extern char *backend_query_terminate(int backend, int min_age_s);

/*
 * A query for those of these backends ("1,2") which wait for a lock, directly
 * or by others, behind the leader, an SQL expression for a process, or behind
 * one of these that is idle: the relation that is locked, and the process of
 * the next in the queue.  Owned.
 */
extern char *backend_query_deadlock(const char *backends, const char *leader);

#endif							/* SESSION_H */
