/*
 * globals_apply.c
 *		Runs what pg_dumpall --globals-only has written.
 */
#include "base/fe_compat.h"

#include "base/interrupt.h"
#include "base/message.h"
#include "globals/globals_apply.h"
#include "session/session.h"
#include "session/session_loss.h"
#include "session/session_settings.h"

/* Of a statement, so much is shown. */
#define MOST_SHOWN 120

/* SQLSTATEs: duplicate_object and insufficient_privilege. */
#define EXISTS_ALREADY "42710"
#define NOT_ALLOWED "42501"

/* A statement without the password that may be in it; owned. */
static char *
shown(const char *statement)
{
	const char *password = strstr(statement, " PASSWORD ");
	size_t		len = password ? (size_t) (password - statement) : strlen(statement);

	if (len > MOST_SHOWN)
		len = MOST_SHOWN;
	return pnstrdup(statement, len);
}

/* Of a role or a tablespace that is there, however it came there. */
static bool
exists_already(const char *statement, const PGresult *res)
{
	return session_error_is(res, EXISTS_ALREADY) &&
		(globals_script_after(statement, "CREATE ROLE") ||
		 globals_script_after(statement, "CREATE TABLESPACE"));
}

/* The server's own words may quote the statement: only the first is told. */
static void
note_error(GlobalsApply *apply, const char *statement, const PGresult *res)
{
	const char *sqlstate = PQresultErrorField(res, PG_DIAG_SQLSTATE);
	const char *primary = PQresultErrorField(res, PG_DIAG_MESSAGE_PRIMARY);
	const char *detail = PQresultErrorField(res, PG_DIAG_MESSAGE_DETAIL);

	if (exists_already(statement, res))
	{
		pg_log_info("%s", primary);
		return;
	}
	message_set_sqlstate(sqlstate);
	pg_log_error("could not make roles and tablespaces as they were: %s",
				 primary ? primary : PQerrorMessage(apply->conn));
	if (detail)
		pg_log_error_detail("%s", detail);
	pg_log_error_detail("The statement was: %s", shown(statement));
	if (apply->exit_on_error || PQstatus(apply->conn) != CONNECTION_OK)
		exit(1);
	apply->n_errors++;
}

/* What a role that was just made is anyway. */
static const char *const denials[] = {
	" NOSUPERUSER", " NOCREATEDB", " NOREPLICATION", " NOBYPASSRLS", NULL
};

/* What only a superuser can give, or, since 16, a role that has it. */
static const char *const gifts[] = {
	" SUPERUSER", " CREATEDB", " REPLICATION", " BYPASSRLS", NULL
};

/* ALTER ROLE without these attributes, owned; or NULL if it is another. */
static char *
without_attributes(const char *statement, const char *const *attributes)
{
	const char *pos = globals_script_after(statement, "ALTER ROLE");
	char	   *result;

	if (pos == NULL)
		return NULL;
	free(globals_script_name(&pos));
	if (globals_script_after(pos, " WITH") == NULL)
		return NULL;
	result = pg_strdup(statement);
	for (; *attributes; attributes++)
	{
		char	   *found = strstr(result + (pos - statement), *attributes);
		size_t		len = strlen(*attributes);

		if (found)
			memmove(found, found + len, strlen(found + len) + 1);
	}
	return result;
}

/* A membership, granted by the one that connects; or NULL. */
static char *
without_grantor(const char *statement)
{
	const char *pos = globals_script_after(statement, "GRANT");
	const char *grantor;

	if (pos == NULL)
		return NULL;
	free(globals_script_name(&pos));
	pos = globals_script_after(pos, " TO");
	if (pos == NULL)
		return NULL;
	free(globals_script_name(&pos));
	grantor = strstr(pos, " GRANTED BY ");
	return grantor ? pnstrdup(statement, grantor - statement) : NULL;
}

/*
 * A role without superuser privileges, the only kind on a managed server, may
 * deny no role what only superusers have, and grant nothing in another's
 * name.  What cannot be given either is an error, but the role gets the rest.
 */
static PGresult *
execute(GlobalsApply *apply, const char *statement)
{
	PGresult   *res = PQexec(apply->conn, statement);
	char	   *less;
	char	   *least;

	if (!session_error_is(res, NOT_ALLOWED) ||
		((less = without_attributes(statement, denials)) == NULL &&
		 (less = without_grantor(statement)) == NULL))
		return res;
	PQclear(res);
	res = PQexec(apply->conn, less);
	least = session_error_is(res, NOT_ALLOWED) ? without_attributes(less, gifts) : NULL;
	if (least && strcmp(least, less) != 0)
		PQclear(PQexec(apply->conn, least));
	free(least);
	free(less);
	return res;
}

static void
run_statement(GlobalsApply *apply, const char *statement)
{
	PGresult   *res;

	interrupt_check();
	res = execute(apply, statement);
	if (PQresultStatus(res) != PGRES_COMMAND_OK &&
		PQresultStatus(res) != PGRES_TUPLES_OK)
	{
		interrupt_check();
		note_error(apply, statement, res);
	}
	PQclear(res);
}

/* Is it about this role's own attributes and settings? */
static bool
is_about(const char *statement, const char *role)
{
	const char *pos = globals_script_after(statement, "ALTER ROLE");
	char	   *name = pos ? globals_script_name(&pos) : NULL;
	bool		result = name && strcmp(name, role) == 0;

	free(name);
	return result;
}

void
globals_apply(GlobalsApply *apply, const GlobalsScript *script)
{
	const char *self = PQuser(apply->conn);

	/* nor is a membership that is there already worth a notice */
	run_statement(apply, "SET client_min_messages = warning");
	apply->kept = pg_malloc0((script->n + 1) * sizeof(char *));
	for (int i = 0; i < script->n; i++)
	{
		char	   *statement = script->statements[i];
		bool		is_about_self = is_about(statement, self);

		if (!is_about_self)
			run_statement(apply, statement);
		if (is_about_self || globals_script_after(statement, "SET"))
			apply->kept[apply->n_kept++] = statement;
	}
}

void
globals_apply_rest(GlobalsApply *apply)
{
	/* which may have come with the first statements */
	session_end_timeouts(apply->conn);
	for (int i = 0; i < apply->n_kept; i++)
		run_statement(apply, apply->kept[i]);
	apply->n_kept = 0;
}
