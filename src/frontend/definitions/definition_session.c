/*
 * definition_session.c
 *		A session that is in the state that pg_restore's would be in.
 */
#include "base/fe_compat.h"

#include <unistd.h>

#include "common/connect.h"
#include "common/string.h"
#include "fe_utils/string_utils.h"

#include "base/interrupt.h"
#include "base/shared_memory.h"
#include "definitions/definition_session.h"
#include "definitions/object_groups.h"
#include "session/connection.h"
#include "session/session_loss.h"
#include "target/target.h"
#include "toc/toc.h"

/* Of a statement that fails so much is shown (pg_backup_db.c). */
#define SHOWN_BYTES 1024

/* ----------
 * Statements
 * ----------
 */

PGresult *
definition_session_run(DefinitionSession *session, const char *sql)
{
	PGresult   *res = PQexec(session->conn, sql);

	switch (PQresultStatus(res))
	{
		case PGRES_COMMAND_OK:
		case PGRES_TUPLES_OK:
		case PGRES_EMPTY_QUERY:
			PQclear(res);
			return NULL;
		default:
			break;
	}
	if (session_is_lost(session->conn, res))
		session_failed(session->conn, res, "query failed", sql);
	return res;
}

void
definition_session_tell_error(const PGresult *res, const char *sql,
							  const TocEntry *entry)
{
	char	   *reason = pg_strdup(PQresultErrorMessage(res));
	int			shown = Min(strlen(sql), SHOWN_BYTES);

	(void) pg_strip_crlf(reason);
	toc_context_tell(entry);
	message_set_sqlstate(PQresultErrorField(res, PG_DIAG_SQLSTATE));
	pg_log_error("could not execute query: %s\nCommand was: %.*s%s", reason,
				 shown, sql, sql[shown] ? "..." : "");
	free(reason);
}

void
definition_session_command(DefinitionSession *session, const char *sql)
{
	PQclear(target_query(session->conn, sql, 0, NULL));
}

/* ----------
 * Transactions
 * ----------
 */
void
definition_session_begin(DefinitionSession *session)
{
	memcpy(session->settings_before, session->settings, sizeof(session->settings));
	session_begin_unwatched(session->conn, "BEGIN");
}

void
definition_session_roll_back(DefinitionSession *session)
{
	definition_session_command(session, "ROLLBACK");
	memcpy(session->settings, session->settings_before, sizeof(session->settings));
	session->other_user = true;
}

/* ----------
 * Entries
 * ----------
 */

/* Privileges may end with another session user than they began with. */
static void
forget_user(DefinitionSession *session, const TocEntry *entry)
{
	if (toc_entry_is(entry, "ACL") || toc_entry_is(entry, "ACL LANGUAGE") ||
		toc_entry_is(entry, "DEFAULT ACL"))
	{
		session->settings[SCRIPT_SESSION_USER] = NULL;
		session->other_user = true;
	}
}

/* Those that are not as the entry needs them; returns how many. */
static int
settings_to_change(DefinitionSession *session, const ScriptEntry *entry,
				   const char **statements)
{
	int			n = 0;

	for (int i = 0; i < SCRIPT_N_SETTINGS; i++)
	{
		const char *want = entry->settings[i];

		if (want && (session->settings[i] == NULL ||
					 strcmp(want, session->settings[i]) != 0))
			statements[n++] = session->settings[i] = want;
	}
	session->other_user |= session->settings[SCRIPT_SESSION_USER] != NULL;
	return n;
}

const char *const *
definition_session_statements(DefinitionSession *session, const ScriptEntry *entry)
{
	const char **statements;
	const char *text;
	int			n_texts;
	int			n;

	resetPQExpBuffer(&session->texts);
	n_texts = object_groups_write(entry, session->options, &session->texts);
	text = session->texts.data;
	statements = pg_realloc(session->statements,
							(SCRIPT_N_SETTINGS + n_texts + entry->n_after + 2) *
							sizeof(char *));
	session->statements = statements;
	n = settings_to_change(session, entry, statements);
	for (; n_texts > 0; n_texts--, text += strlen(text) + 1)
		statements[n++] = text;
	if (entry->oids == NULL)
	{
		statements[n++] = entry->entry->defn;
		for (int i = 0; i < entry->n_after; i++)
			statements[n++] = entry->after[i];
	}
	statements[n] = NULL;
	forget_user(session, entry->entry);
	return statements;
}

bool
definition_session_sets_user(const DefinitionSession *session,
							 const char *statement)
{
	return statement == session->settings[SCRIPT_SESSION_USER];
}

void
definition_session_reset_user(DefinitionSession *session)
{
	const char *role = session->options->role;

	if (!session->other_user)
		return;
	definition_session_command(session, "RESET SESSION AUTHORIZATION");
	if (role)
	{
		char	   *sql = psprintf("SET ROLE %s", fmtId(role));

		definition_session_command(session, sql);
		free(sql);
	}
	session->settings[SCRIPT_SESSION_USER] = NULL;
	session->other_user = false;
}

/* ----------
 * The session
 * ----------
 */

/*
 * What a session of pg_restore begins with.  An older server may not know all
 * of it: to be told once, however many sessions there are.
 */
static void
set_up(DefinitionSession *session, const Script *script,
	   volatile bool *head_told, volatile int *n_errors)
{
	bool		told = *head_told;

	session_begin_unwatched(session->conn, SESSION_BEGIN_SETTINGS);
	definition_session_command(session, ALWAYS_SECURE_SEARCH_PATH_SQL);
	/* the role's may be another one */
	definition_session_command(session, SESSION_SET("default_transaction_isolation",
													"read committed"));
	for (int i = 0; i < script->n_head; i++)
	{
		char	   *sql = psprintf(SESSION_SAVEPOINT "; %s", script->head[i]);
		PGresult   *res = definition_session_run(session, sql);

		free(sql);
		if (res == NULL)
			continue;
		if (!told)
		{
			definition_session_tell_error(res, script->head[i], NULL);
			if (n_errors)
				(void) __sync_fetch_and_add(n_errors, 1);
		}
		PQclear(res);
		if (!told && session->options->exit_on_error)
			exit(1);
		definition_session_command(session, SESSION_ROLLBACK_TO);
	}
	definition_session_command(session, "COMMIT");
	*head_told = true;
}

volatile bool *
definition_session_head_told(void)
{
	static bool *told = NULL;

	if (told == NULL)
		told = shared_memory_new(1, sizeof(bool));
	return told;
}

/* A PQnoticeProcessor, as pg_restore's. */
static void
tell_notice(void *arg, const char *message)
{
	pg_log_info("%s", message);
}

/*
 * The leader's connection is the leader's alone, and ends with it.  Once: a
 * worker may open another session later, and the descriptor be another one's.
 */
static void
leave_leaders_connection(const Target *target)
{
	static bool left = false;

	if (!left)
		close(PQsocket(target->conn));
	left = true;
}

DefinitionSession *
definition_session_open(const RestoreStages *stages,
						const PeerAddress *address, const Script *script,
						volatile bool *head_told)
{
	const Target *target = stages->target;
	DefinitionSession *session = pg_malloc0(sizeof(DefinitionSession));

	session->options = stages->setup.options;
	initPQExpBuffer(&session->texts);
	leave_leaders_connection(target);
	session->conn = connection_open_peer(address, "pg_pardump");
	interrupt_set_connection(session->conn);
	PQsetNoticeProcessor(session->conn, tell_notice, NULL);
	session->incarnation = target_history_expect(session->conn,
												 target->history).incarnation;
	set_up(session, script, head_told, stages->setup.n_errors);
	return session;
}

void
definition_session_close(DefinitionSession *session)
{
	interrupt_set_connection(NULL);
	session_close(session->conn);
	free(session->incarnation);
	free(session->statements);
	termPQExpBuffer(&session->texts);
	free(session);
}
