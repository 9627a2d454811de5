/*
 * backup_server.c
 *		The leader's session: how a backup begins and ends on the server.
 *
 * pg_backup_start() and pg_backup_stop() must be called in the same session,
 * and the backup ends with that session.  So this session does nothing that
 * could fail: all reading that may meet an error is done by other sessions.
 *
 * All other sessions compare the server's start time and system identifier
 * with those of the first one: a connection through a proxy or several hosts
 * may lead to another server, whose files do not belong to this backup.
 */
#include "base/fe_compat.h"

#include "access/xlog_internal.h"
#include "fe_utils/string_utils.h"

#include "base/clock.h"
#include "base/hex.h"
#include "base/interrupt.h"
#include "basebackup/backup_read.h"
#include "basebackup/backup_server.h"
#include "process/this_program.h"
#include "session/session_settings.h"
#include "shared/crc32c.h"
#include "source/leader_session.h"

/*
 * Is the CRC right?  Its position depends on the server's major version,
 * which may differ from ours, but it follows what it protects, within the
 * first sector.  So all positions are tried.
 */
static bool
control_file_is_whole(const char *data, int len)
{
	for (int pos = 128; pos + (int) sizeof(pg_crc32c) <= Min(len, 512); pos += 4)
	{
		pg_crc32c	crc = crc32c_of(data, pos);

		if (memcmp(&crc, data + pos, sizeof(crc)) == 0)
			return true;
	}
	return false;
}

/* 15 renamed pg_start_backup() to pg_backup_start(). */
#define MIN_SERVER_VERSION 150000

/*
 * A limit for the WAL of a backup, because a hostile server could name any
 * position, and all segments up to it would be read.
 */
#define MOST_LOG_BYTES ((uint64) 1 << 46)

/* How often pg_control is read until its checksum is right. */
#define CONTROL_FILE_TRIES 100

/* How often a slot is used that must not become idle. */
#define SLOT_SECONDS 1.0

/* Names of files may be in any encoding, so text must not be converted. */
#define ANY_ENCODING "SQL_ASCII"

/* Columns that identify the server, for all sessions. */
#define IDENTITY \
"pg_catalog.date_part('epoch', pg_catalog.pg_postmaster_start_time()), " \
"s.system_identifier, pg_catalog.pg_is_in_recovery()"

#define FROM_SYSTEM " FROM pg_catalog.pg_control_system() s"

static const char facts_query[] =
"SELECT " IDENTITY ", s.catalog_version_no,"
" i.database_block_size, i.blocks_per_segment, i.bytes_per_wal_segment,"
/*
 * From 19 on pg_control_init() shows the value at initdb, so the setting is
 * read.
 */
" pg_catalog.current_setting('data_checksums') OPERATOR(pg_catalog.=) 'on',"
" pg_catalog.current_setting('data_directory_mode')"
FROM_SYSTEM ", pg_catalog.pg_control_init() i";

static const char identity_query[] = "SELECT " IDENTITY FROM_SYSTEM;

static PGresult *
query_row(PGconn *conn, const char *sql)
{
	PGresult   *res = session_query(conn, sql);

	if (PQntuples(res) != 1)
		session_unexpected(psprintf("The number of rows is %d instead of 1: %s",
									PQntuples(res), sql));
	return res;
}

static XLogRecPtr
get_lsn(const PGresult *res, int column)
{
	uint32		high;
	uint32		low;

	if (sscanf(PQgetvalue(res, 0, column), "%X/%X", &high, &low) != 2)
		session_unexpected(psprintf("\"%s\" is not a write-ahead log location.",
									printable(PQgetvalue(res, 0, column))));
	return (uint64) high << 32 | low;
}

/* ----------
 * Sessions
 * ----------
 */
static void
ask_facts(Backup *backup)
{
	BackupServer *server = &backup->server;
	PGresult   *res = query_row(backup->conn, facts_query);
	const char *catalog;

	server->started = pg_strdup(PQgetvalue(res, 0, 0));
	server->system_identifier = result_number(res, 0, 1);
	server->is_standby = result_is_true(res, 0, 2);
	server->catalog_version = pg_strdup(PQgetvalue(res, 0, 3));
	server->block_size = (uint32) result_number(res, 0, 4);
	server->segment_blocks = (uint32) result_number(res, 0, 5);
	server->wal_segment_bytes = result_number(res, 0, 6);
	server->has_checksums = result_is_true(res, 0, 7);
	server->directory_mode = (int) strtol(PQgetvalue(res, 0, 8), NULL, 8);
	PQclear(res);

	/*
	 * The program divides by these values, or makes them a part of paths, so
	 * dangerous values, which a hostile server could send, are refused.
	 */
	catalog = server->catalog_version;
	if (!IsValidWalSegSize(server->wal_segment_bytes))
		session_unexpected(psprintf("The size of WAL segments, " UINT64_FORMAT ", is not a power of two from 1 MB to 1 GB.",
									server->wal_segment_bytes));
	if (*catalog == '\0' || catalog[strspn(catalog, "0123456789")] != '\0')
		session_unexpected(psprintf("The catalog version \"%s\" is not a number.",
									printable(catalog)));
}

/*
 * Paths are sent as literals, in which a backslash must stand for itself in
 * spite of the settings of the role and the database: otherwise the extension
 * would look for other names, and treat their files as gone.  Arrays contain
 * NULLs, so array_nulls must be on.
 */
static void
backup_server_set_up(PGconn *conn, const Options *options)
{
	bool		begun = session_begin_settings(conn);

	session_set_up(conn, options, ANY_ENCODING);
	session_command(conn, "SET standard_conforming_strings = on");
	session_command(conn, "SET array_nulls = on");
	session_end_settings(conn, begun);
}

/*
 * All functions that the leader and the workers call, as in the manual's
 * GRANT.
 */
#define FUNCTIONS \
"'pg_backup_start(text, boolean)', 'pg_backup_stop(boolean)'," \
" 'pg_ls_dir(text, boolean, boolean)', 'pg_ls_dir(text)'," \
" 'pg_stat_file(text, boolean)'," \
" 'pg_read_binary_file(text, bigint, bigint, boolean)'"

/*
 * The role, the functions that it may not execute (or NULL), and whether it
 * may create a slot (slot.c: CheckSlotPermissions).  A superuser may do
 * everything.  If the server does not have a function, its call will report
 * that.
 */
static const char rights_query[] =
"SELECT r.rolname,"
" (SELECT pg_catalog.string_agg(f.signature, ', ' ORDER BY f.no)"
" FROM pg_catalog.unnest(ARRAY[" FUNCTIONS "])"
" WITH ORDINALITY AS f (signature, no)"
" WHERE NOT pg_catalog.has_function_privilege(r.oid,"
" pg_catalog.to_regprocedure('pg_catalog.' OPERATOR(pg_catalog.||) f.signature),"
" 'EXECUTE')),"
" r.rolsuper OR r.rolreplication"
" FROM pg_catalog.pg_roles r WHERE r.rolname OPERATOR(pg_catalog.=) CURRENT_USER";

static bool
needs_slot(const Options *options)
{
	return options->wal_method != BACKUP_WAL_NONE && !options->no_slot;
}

/*
 * Find out at once which privileges the role lacks.  The server would report
 * one at a time, and the one for pg_backup_stop() only after hours of
 * reading.
 */
static void
check_rights(const Backup *backup)
{
	PGresult   *res = query_row(backup->conn, rights_query);
	bool		lacks_functions = !PQgetisnull(res, 0, 1);
	bool		lacks_slot = needs_slot(backup->options) &&
		!result_is_true(res, 0, 2);
	char	   *role;

	if (!lacks_functions && !lacks_slot)
		return;

	role = pg_strdup(fmtId(PQgetvalue(res, 0, 0)));
	pg_log_error("role \"%s\" may not take a base backup",
				 printable(PQgetvalue(res, 0, 0)));
	if (lacks_slot)
	{
		pg_log_error_detail("The role needs the REPLICATION attribute to create the temporary replication slot that retains WAL.");
		pg_log_error_hint("As a superuser, run ALTER ROLE %s REPLICATION; or use --no-slot if wal_keep_size is large enough to retain the WAL.",
						  printable(role));
	}
	if (lacks_functions)
	{
		pg_log_error_detail("The role may not execute %s.",
							PQgetvalue(res, 0, 1));
		pg_log_error_hint("As a superuser, run in database \"%s\": GRANT EXECUTE ON FUNCTION %s TO %s;",
						  printable(PQdb(backup->conn)), PQgetvalue(res, 0, 1),
						  printable(role));
	}
	exit(1);
}

void
backup_server_open(Backup *backup, const char *progname)
{
	const Options *options = backup->options;

	backup->conn = connection_open_leader(options, progname);
	connection_require_version(backup->conn, MIN_SERVER_VERSION, "15");
	backup->server.version =
		pg_strdup(PQparameterStatus(backup->conn, "server_version"));
	backup->server.major = PQserverVersion(backup->conn) / 10000;
	backup->address = peer_address_new(backup->conn, false,
									   options->connection.dbname,
									   options->password_command);
	leader_watchdog_watch(backup->conn, backup->address, options);
	backup_server_set_up(backup->conn, options);
	session_command_settings(backup->conn, "SET client_min_messages = warning");
	ask_facts(backup);
	check_rights(backup);
	if (backup->server.has_checksums && !options->no_verify_checksums &&
		backup->server.block_size != BLCKSZ)
	{
		pg_log_error("could not verify page checksums");
		pg_log_error_detail("The server's pages have %u bytes, but this program supports only pages of %d bytes.",
							backup->server.block_size, BLCKSZ);
		pg_fatal_hint("Use --no-verify-checksums.");
	}
}

static void
check_standby(const Backup *backup, bool is_standby)
{
	if (is_standby != backup->server.is_standby)
	{
		pg_log_error("the standby was promoted during the backup");
		pg_fatal_hint("Run the same command again.");
	}
}

PGconn *
backup_server_connect(const Backup *backup, bool in_leader)
{
	const BackupServer *server = &backup->server;
	PGconn	   *conn = connection_open_peer(backup->address,
											this_program_name());
	PGresult   *res;

	if (in_leader)
		leader_watchdog_watch(conn, backup->address, backup->options);
	backup_server_set_up(conn, backup->options);
	res = query_row(conn, identity_query);
	if (strcmp(PQgetvalue(res, 0, 0), server->started) != 0 ||
		result_number(res, 0, 1) != server->system_identifier)
	{
		pg_log_error("connections lead to different servers, or the server was restarted");
		pg_fatal_hint("Connect to the server itself, not to a load balancer.");
	}
	check_standby(backup, result_is_true(res, 0, 2));
	return conn;
}

/*
 * Check whether the server has ended the leader's session.  This is called
 * often, because without the session all further reading is useless.
 */
void
backup_server_check(const Backup *backup)
{
	if (PQconsumeInput(backup->conn) && PQstatus(backup->conn) == CONNECTION_OK)
		return;
	interrupt_check();
	pg_log_error("the session of the backup was lost: %s",
				 PQerrorMessage(backup->conn));
	pg_fatal_hint("Run the same command again.");
}

/* ----------
 * The backup
 * ----------
 */

/*
 * From 18 on, at the end of a checkpoint the server ends sessions whose slot
 * was idle for a long time.  The leader's session waits for a checkpoint when
 * the backup begins, so it would be ended.
 */
static bool
slots_may_not_idle(PGconn *conn)
{
	return session_is_true(conn,
						   "SELECT pg_catalog.current_setting('idle_replication_slot_timeout', true)"
						   " OPERATOR(pg_catalog.<>) '0'");
}

/*
 * Create a temporary slot, which keeps WAL from here on while its session
 * lives.
 */
static void
make_slot(Backup *backup)
{
	char	   *name = psprintf("pg_parbasebackup_%s", hex_random(8));

	backup->slot_conn = slots_may_not_idle(backup->conn) ?
		backup_server_connect(backup, true) : backup->conn;

	/*
	 * Signals must cancel the leader's statements, not those of the slot's
	 * session.
	 */
	interrupt_set_connection(backup->conn);
	session_query(backup->slot_conn,
				  psprintf("SELECT pg_catalog.pg_create_physical_replication_slot('%s', true, true)",
						   name));
	backup->slot = name;
	backup->slot_used = run_clock_seconds();
}

void
backup_server_advance_slot(const Backup *backup, XLogRecPtr position)
{
	char	   *sql;

	if (backup->slot == NULL)
		return;
	sql = psprintf("SELECT pg_catalog.pg_replication_slot_advance('%s', '%X/%X')",
				   backup->slot, LSN_FORMAT_ARGS(position));
	PQclear(session_query(backup->slot_conn, sql));
	free(sql);
}

/*
 * Advance the slot to its own position, so that it does not count as idle.
 * This is also called while the leader waits for another statement, so a
 * session that is running one is skipped.
 */
void
backup_server_use_slot(Backup *backup)
{
	double		now = run_clock_seconds();
	char	   *sql;

	if (backup->slot == NULL || backup->slot_conn == backup->conn ||
		now - backup->slot_used < SLOT_SECONDS ||
		PQtransactionStatus(backup->slot_conn) == PQTRANS_ACTIVE)
		return;
	backup->slot_used = now;
	sql = psprintf("SELECT pg_catalog.pg_replication_slot_advance(slot_name, restart_lsn)"
				   " FROM pg_catalog.pg_replication_slots"
				   " WHERE slot_name OPERATOR(pg_catalog.=) '%s'", backup->slot);
	PQclear(session_query(backup->slot_conn, sql));
	free(sql);
}

XLogRecPtr
backup_server_wal_position(const Backup *backup)
{
	PGresult   *res = query_row(backup->conn,
								"SELECT r, CASE WHEN r THEN pg_catalog.pg_last_wal_replay_lsn()"
								" ELSE pg_catalog.pg_current_wal_flush_lsn() END"
								" FROM pg_catalog.pg_is_in_recovery() r");
	XLogRecPtr	position = get_lsn(res, 1);

	check_standby(backup, result_is_true(res, 0, 0));
	PQclear(res);
	return position;
}

void
backup_server_start(Backup *backup)
{
	const Options *options = backup->options;
	const char *params[2] = {options->label,
	options->fast_checkpoint ? "true" : "false"};
	PGresult   *res;

	if (needs_slot(options))
		make_slot(backup);
	res = session_query_params(backup->conn,
							   "SELECT pg_catalog.pg_backup_start($1, $2)",
							   2, params, 0);
	backup->start = get_lsn(res, 0);
	PQclear(res);
	/* the timeline of the checkpoint with which the backup begins */
	res = query_row(backup->conn,
					"SELECT timeline_id FROM pg_catalog.pg_control_checkpoint()");
	backup->timeline = (TimeLineID) result_number(res, 0, 0);
	PQclear(res);
}

/*
 * Read pg_control until its CRC is right, because it may be read while the
 * server writes it.  The server writes it rarely, so few attempts are enough.
 */
PGresult *
backup_server_control_file(const Backup *backup)
{
	for (int tries = 0; tries < CONTROL_FILE_TRIES; tries++)
	{
		PGresult   *res = backup_read_file(backup->conn, "global/pg_control");

		/* If the CRC is wrong, the server may have been writing the file. */
		if (res && control_file_is_whole(PQgetvalue(res, 0, 0),
										 PQgetlength(res, 0, 0)))
			return res;
		PQclear(res);
	}
	pg_log_error("file \"%s\" is damaged", "global/pg_control");
	pg_log_error_detail("Its checksum was wrong in %d attempts to read the file.",
						CONTROL_FILE_TRIES);
	pg_fatal_hint("Check the file with pg_controldata on the server.");
}

/*
 * All WAL of a backup must be from one timeline: a standby may have followed
 * its primary to another one.
 */
static void
check_timeline(const Backup *backup)
{
	PGresult   *res = query_row(backup->conn,
								"SELECT pg_catalog.pg_is_in_recovery(),"
								" (SELECT min_recovery_end_timeline FROM pg_catalog.pg_control_recovery())");
	uint64		timeline = result_number(res, 0, 1);

	check_standby(backup, result_is_true(res, 0, 0));
	if (backup->server.is_standby && timeline != 0 &&
		timeline != backup->timeline)
	{
		pg_log_error("the standby switched from timeline %u to %u during the backup",
					 backup->timeline, (TimeLineID) timeline);
		pg_fatal_hint("Run the same command again.");
	}
}

char *
backup_server_stop(Backup *backup)
{
	/* Without WAL in the backup, wait until the server has archived it. */
	const char *wait = backup->options->wal_method == BACKUP_WAL_NONE ?
		"true" : "false";
	char	   *label;
	PGresult   *res;
	const char *line;
	uint32		high;
	uint32		low;
	TimeLineID	timeline;

	res = session_query_params(backup->conn,
							   "SELECT lsn, labelfile FROM pg_catalog.pg_backup_stop($1)",
							   1, &wait, 0);
	backup->stop = get_lsn(res, 0);
	label = pg_strdup(PQgetvalue(res, 0, 1));
	PQclear(res);
	if (backup->stop < backup->start ||
		backup->stop - backup->start > MOST_LOG_BYTES)
		session_unexpected(psprintf("The end of the backup is %X/%X, but its start is %X/%X.",
									LSN_FORMAT_ARGS(backup->stop),
									LSN_FORMAT_ARGS(backup->start)));

	/*
	 * The label's text (xlogbackup.c:build_backup_content()) contains the
	 * timeline of the checkpoint with which the backup began.  The timeline
	 * that was queried separately may belong to a later checkpoint, after a
	 * promotion in between.
	 */
	line = strstr(label, "\nSTART TIMELINE: ");
	if (sscanf(label, "START WAL LOCATION: %X/%X", &high, &low) != 2 ||
		line == NULL || sscanf(line, "\nSTART TIMELINE: %u", &timeline) != 1 ||
		((uint64) high << 32 | low) != backup->start)
		session_unexpected("The backup label does not match the start of this backup.");
	if (timeline != backup->timeline)
	{
		pg_log_error("the server switched from timeline %u to %u while the backup started",
					 timeline, backup->timeline);
		pg_fatal_hint("Run the same command again.");
	}
	check_timeline(backup);
	return label;
}
