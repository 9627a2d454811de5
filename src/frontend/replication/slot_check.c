/*
 * slot_check.c
 *		Can the server make a logical replication slot?
 */
#include "base/fe_compat.h"

#include "fe_utils/string_utils.h"

#include "base/interrupt.h"
#include "base/message.h"
#include "replication/slot_check.h"
#include "session/connection.h"
#include "session/snapshot.h"

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
 * From 19 on a server turns logical decoding on when the first slot is made.
 */
static bool
wal_level_suffices(PGconn *conn, const char *wal_level)
{
	if (PQserverVersion(conn) >= 190000)
		return strcmp(wal_level, "minimal") != 0;
	return strcmp(wal_level, "logical") == 0;
}

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
		pg_log_error("on a standby --create-slot needs the setting hot_standby_feedback");
		pg_log_error_detail("Without it, rows that the slot's snapshot sees may be removed before it is exported.");
		pg_log_error_hint("Run ALTER SYSTEM SET hot_standby_feedback = on there, and reload its configuration.");
	}
	PQclear(res);
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
		pg_log_warning_detail("There is a small risk that rows are read wrongly if transactions commit while the slot is created; PostgreSQL %s fixes this.",
							  release);
	else
		pg_log_warning_detail("There is a small risk that rows are read wrongly if transactions commit while the slot is created; no release of PostgreSQL %d fixes this.",
							  version / 10000);
	free(release);
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
	char	   *word = pg_malloc(strlen(c) + 1);
	size_t		len = 0;

	if (*c == '\0')
	{
		free(word);
		return NULL;
	}
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
	{
		allowed = strcmp(word, plugin) == 0;
		free(word);
	}
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

const char *
slot_check_plugin(const Options *options)
{
	return options->slot_plugin ? options->slot_plugin : "pgoutput";
}

void
slot_check(PGconn *conn, const Options *options)
{
	const char *params[] = {options->slot};
	PGresult   *res;

	if (PQserverVersion(conn) < MIN_SLOT_VERSION)
		pg_fatal("option %s needs a server of PostgreSQL 10 or newer",
				 "--create-slot");
	check_minor(conn);
	check_plugin(conn, slot_check_plugin(options));
	res = session_query_params(conn, check_query, 1, params, 0);
	if (PQgetvalue(res, 0, 1)[0] == 't' && PQserverVersion(conn) < 160000)
	{
		pg_log_error("a standby before PostgreSQL 16 cannot have logical replication slots");
		pg_log_error_hint("Connect to the primary, or leave out --create-slot.");
	}
	if (!wal_level_suffices(conn, PQgetvalue(res, 0, 0)))
	{
		pg_log_error("a logical replication slot needs the server's setting wal_level to be \"logical\", not \"%s\"",
					 PQgetvalue(res, 0, 0));
		pg_log_error_hint("Run ALTER SYSTEM SET wal_level = 'logical', and restart the server.");
	}
	if (PQgetvalue(res, 0, 4)[0] == 't')
	{
		pg_log_error("replication slot \"%s\" already exists", options->slot);
		pg_log_error_hint("Choose another name, or drop it if nobody needs it: SELECT pg_drop_replication_slot('%s');",
						  options->slot);
	}
	if (PQgetvalue(res, 0, 3)[0] == 't')
	{
		pg_log_error("all %s replication slots of the server are in use",
					 PQgetvalue(res, 0, 2));
		pg_log_error_hint("Drop one that nobody needs, or increase max_replication_slots and restart the server.");
	}
	PQclear(res);
	check_feedback(conn);
}

/* Every replication connection needs this attribute. */
static bool
has_replication_attribute(PGconn *conn)
{
	PGresult   *res = session_query(conn,
									"SELECT rolsuper OR rolreplication FROM pg_catalog.pg_roles"
									" WHERE rolname OPERATOR(pg_catalog.=) SESSION_USER");
	bool		result = PQntuples(res) == 1 && PQgetvalue(res, 0, 0)[0] == 't';

	PQclear(res);
	return result;
}

bool
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
		pg_log_error_hint("pg_hba.conf must let the role connect to the database, and max_wal_senders must allow for one more connection.");
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
