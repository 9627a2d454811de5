/*
 * globals.c
 *		Dumps, parses and runs the statements for roles, tablespaces and
 *		everything else that the databases of a cluster share.
 *
 * Stock pg_dumpall --globals-only writes them as a script for psql.  This
 * program runs the script statement by statement, without psql: a psql
 * command in it could run any program, and errors must be handled one by one.
 * A managed server, where no role is a superuser, refuses some statements;
 * those are repeated without the attributes that only superusers can set.
 *
 * --roles of a copy takes from the same script the roles that one database
 * needs.
 */
#include "base/fe_compat.h"

#include <sys/mman.h>

#include "fe_utils/string_utils.h"

#include "base/buffer.h"
#include "base/identifier.h"
#include "base/interrupt.h"
#include "cluster/cluster_list.h"
#include "cluster/globals.h"
#include "session/session_lost.h"
#include "session/session_settings.h"
#include "stock/stock_pg_dump.h"
#include "stream/regular_file.h"

/* ----------
 * The script of pg_dumpall.
 * ----------
 */

#define LAST_LINE "-- PostgreSQL database cluster dump complete"

/*
 * pg_dumpall exits with 0 even if writing its output failed, so its last line
 * is looked for.
 */
static bool
has_end(const char *text)
{
	return strstr(text, "\n" LAST_LINE "\n") != NULL;
}

static void
check_end(const char *text)
{
	if (!has_end(text))
	{
		pg_log_error("the output of pg_dumpall is incomplete");
		pg_log_error_detail("Its last line, \"%s\", is missing.", LAST_LINE);
		pg_fatal_hint("Run pg_dumpall --globals-only to find the cause.");
	}
}

/*
 * The timeouts, in milliseconds, that the role or its database has set,
 * instead of the values that this session has set since.
 */
static const char timeouts_query[] =
"SELECT s.name, s.reset_val FROM pg_catalog.pg_settings s"
" WHERE s.name OPERATOR(pg_catalog.=) ANY"
" (ARRAY['statement_timeout', 'lock_timeout']::pg_catalog.text[])";

/*
 * Longer timeouts do not matter, because no statement of pg_dumpall takes
 * this long.
 */
#define LONG_TIMEOUT_MS 60000

/*
 * pg_dump sets statement_timeout and lock_timeout to 0, pg_dumpall does not.
 * So its connection string does, but only if one of them is short enough to
 * matter, because connection poolers refuse options.  Owned; empty if not
 * needed.
 */
static char *
without_timeouts(PGconn *conn)
{
	PGresult   *res = session_query(conn, timeouts_query);
	const char *given = PQoptions(conn);
	PQExpBufferData options = buffer_new();
	PQExpBufferData text = buffer_new();
	bool		any = false;

	appendPQExpBufferStr(&options, given ? given : "");
	for (int i = 0; i < PQntuples(res); i++)
	{
		long		ms = strtol(PQgetvalue(res, i, 1), NULL, 10);

		if (ms <= 0 || ms >= LONG_TIMEOUT_MS)
			continue;
		appendPQExpBuffer(&options, " -c %s=0", PQgetvalue(res, i, 0));
		any = true;
	}
	PQclear(res);
	if (any)
	{
		appendPQExpBufferStr(&text, " options=");
		appendConnStrVal(&text, buffer_text(&options));
	}
	return buffer_text(&text);
}

/*
 * The output goes to a file in memory and not to a pipe, so that it need not
 * be read while the program's messages are read.  It may contain password
 * hashes, so it must not be on a disk.
 */
char *
globals_read(PGconn *conn, const PeerAddress *address, const char *part,
			 const Options *options, const char *argv0)
{
	char	   *program = stock_pg_dumpall_find(options, argv0);
	char	   *more = without_timeouts(conn);

	/*
	 * The file is in memory, because the script may contain password hashes.
	 */
	int			fd = memfd_create("pg_pardump globals", MFD_CLOEXEC);
	size_t		len;
	char	   *text;

	if (fd < 0)
		pg_fatal("could not create in-memory file: %m");
	pg_log_info("reading roles and tablespaces with \"%s\"", program);
	stock_pg_dumpall_run(program, part, options, address, PQdb(conn), more, fd);
	if (lseek(fd, 0, SEEK_SET) < 0 ||
		(text = regular_file_read_text(fd, &len)) == NULL)
		pg_fatal("could not read the output of pg_dumpall: %m");
	check_end(text);
	close(fd);
	return text;
}

char *
globals_read_file(const char *path)
{
	const char *problem;
	int			fd = regular_file_open(AT_FDCWD, path, &problem);
	size_t		len;
	char	   *text;

	if (fd < 0)
	{
		pg_log_error("could not read the script of roles and tablespaces");
		pg_fatal_detail("%s", message_sentence(problem));
	}
	text = regular_file_read_text(fd, &len);
	if (text == NULL)
		pg_fatal("could not read file \"%s\": %m", path);
	if (!has_end(text))
	{
		pg_log_error("could not read the script of roles and tablespaces");
		pg_fatal_detail("The last line of a script of pg_dumpall, \"%s\", is missing from file \"%s\".",
						LAST_LINE, path);
	}
	close(fd);
	return text;
}

const char *
globals_names(const Options *options)
{
	return options->no_tablespaces ? "roles" : "roles, tablespaces";
}

/* ----------
 * Parsing the script.
 *
 * pg_dumpall quotes in two ways.  Both double the quote in a text, and
 * literals double backslashes if these have a meaning
 * (appendStringLiteralConn).
 * ----------
 */

/* The position after the newline of the line. */
static const char *
skip_line(const char *pos)
{
	pos += strcspn(pos, "\n");
	return *pos ? pos + 1 : pos;
}

/* Skip spaces, comments and the two psql commands between statements. */
static const char *
skip_between(const char *pos)
{
	for (;;)
	{
		pos += strspn(pos, " \t\r\n");
		if (strncmp(pos, "--", 2) == 0 ||
			strncmp(pos, "\\restrict ", strlen("\\restrict ")) == 0 ||
			strncmp(pos, "\\unrestrict ", strlen("\\unrestrict ")) == 0)
			pos = skip_line(pos);
		else
			return pos;
	}
}

/*
 * The position after the closing quote of the text that begins here; NULL if
 * it is not closed.
 */
static const char *
skip_quoted(const char *pos)
{
	const char *end = strchr(pos + 1, *pos);

	return end ? end + 1 : NULL;
}

/*
 * The semicolon that ends the statement, or NULL.  pg_dumpall doubles quotes
 * in literals and identifiers, so skipping to the next quote of the same kind
 * is enough: a doubled one ends one text and begins the next.
 */
static const char *
find_end(const char *pos)
{
	while (pos && *pos && *pos != ';')
	{
		if (*pos == '\'' || *pos == '"')
			pos = skip_quoted(pos);
		else if (strncmp(pos, "--", 2) == 0)
			pos = skip_line(pos);
		else
			pos++;
	}
	return pos && *pos == ';' ? pos : NULL;
}

pg_noreturn static void
reject_script(const char *detail)
{
	pg_log_error("could not read the script of roles and tablespaces");
	pg_log_error_detail("%s", detail);
	pg_fatal_hint("Check the script, create roles and tablespaces with psql, and dump, copy or restore each database alone.");
}

GlobalsScript *
globals_script_parse(const char *text)
{
	GlobalsScript *script = pg_malloc0(sizeof(GlobalsScript));

	for (const char *pos = skip_between(text); *pos; pos = skip_between(pos))
	{
		const char *end = find_end(pos);

		if (*pos == '\\')
			reject_script(psprintf("It contains \"%s\", which pg_dumpall does not write.",
								   printable(pnstrdup(pos, strcspn(pos, " \t\n")))));
		if (end == NULL)
			reject_script("It ends within a statement.");
		*array_add(script->statements, script->n) = pnstrdup(pos, end - pos);
		pos = end + 1;
	}
	return script;
}

/*
 * Is the statement about a tablespace?  The word is in capitals, and names
 * with capitals are quoted.
 */
static bool
is_about_tablespace(const char *statement)
{
	const char *word = strstr(statement, "TABLESPACE ");

	return word && strcspn(statement, "'\"") > (size_t) (word - statement);
}

void
globals_script_drop_tablespaces(GlobalsScript *script)
{
	int			n = 0;

	for (int i = 0; i < script->n; i++)
		if (!is_about_tablespace(script->statements[i]))
			script->statements[n++] = script->statements[i];
	script->n = n;
}

const char *
globals_script_after(const char *statement, const char *words)
{
	size_t		len = strlen(words);

	if (strncmp(statement, words, len) != 0 || statement[len] != ' ')
		return NULL;
	return statement + len + 1;
}

char *
globals_script_name(const char **pos)
{
	const char *end = *pos;
	char	   *name;

	/* A doubled quote ends one part and begins the next. */
	if (*end == '"')
		while (end && *end == '"')
			end = skip_quoted(end);
	else
		end += strcspn(end, " \t\n,;");
	if (end == NULL || end == *pos)
		return NULL;
	name = identifier_unquote(pnstrdup(*pos, end - *pos));
	*pos = end;
	return name;
}

/* ----------
 * Running the script.
 * ----------
 */

/* Messages show this much of a statement. */
#define MOST_SHOWN 120

/* SQLSTATEs: duplicate_object and insufficient_privilege. */
#define EXISTS_ALREADY "42710"
#define NOT_ALLOWED "42501"

/* A statement for messages: up to the password, which comes last.  Owned. */
static char *
shown(const char *statement)
{
	const char *password = strstr(statement, " PASSWORD ");
	size_t		len = password ? (size_t) (password - statement) : strlen(statement);

	if (len > MOST_SHOWN)
		len = MOST_SHOWN;
	return pnstrdup(statement, len);
}

/* Is it an error about a role or a tablespace that exists already? */
static bool
exists_already(const char *statement, const PGresult *res)
{
	return session_error_is(res, EXISTS_ALREADY) &&
		(globals_script_after(statement, "CREATE ROLE") ||
		 globals_script_after(statement, "CREATE TABLESPACE"));
}

/*
 * Only the first line of the server's error is reported, since its context
 * may quote the statement, and with it a password hash.
 */
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
	pg_log_error("could not create the roles and tablespaces: %s",
				 primary ? primary : PQerrorMessage(apply->conn));
	if (detail)
		pg_log_error_detail("%s", detail);
	pg_log_error_detail("Statement was: %s", shown(statement));
	if (apply->exit_on_error || PQstatus(apply->conn) != CONNECTION_OK)
		exit(1);
	apply->n_errors++;
}

/* Attributes that a new role has anyway. */
static const char *const denials[] = {
	" NOSUPERUSER", " NOCREATEDB", " NOREPLICATION", " NOBYPASSRLS", NULL
};

/*
 * Attributes that only a superuser can grant or, from 16 on, a role that has
 * them.
 */
static const char *const gifts[] = {
	" SUPERUSER", " CREATEDB", " REPLICATION", " BYPASSRLS", NULL
};

/*
 * An ALTER ROLE statement without these attributes, owned; NULL for another
 * statement.
 */
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

/*
 * A GRANT of a membership without its grantor, so that the role that connects
 * is the grantor; or NULL.
 */
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
 * Run a statement.  On a managed server the user is not a superuser, and may
 * not remove attributes such as SUPERUSER from a role, or grant memberships
 * in the name of others.  A statement that fails because of this is repeated
 * without these parts.  If even that fails, the role gets all attributes that
 * can be granted, and the error is reported.
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
	return res;
}

/*
 * Does the role or the tablespace that the statement creates exist already?
 * The statement would fail, and the error would be in the server's log.
 */
static bool
is_there(GlobalsApply *apply, const char *statement)
{
	const char *role = globals_script_after(statement, "CREATE ROLE");
	const char *pos = role ? role : globals_script_after(statement, "CREATE TABLESPACE");
	const char *name;
	PGresult   *res;
	bool		result;

	if (pos == NULL)
		return false;
	name = globals_script_name(&pos);
	res = PQexecParams(apply->conn, role ?
					   "SELECT FROM pg_catalog.pg_roles r"
					   " WHERE r.rolname::pg_catalog.text OPERATOR(pg_catalog.=) $1" :
					   "SELECT FROM pg_catalog.pg_tablespace t"
					   " WHERE t.spcname::pg_catalog.text OPERATOR(pg_catalog.=) $1",
					   1, NULL, &name, NULL, NULL, 0);
	result = PQntuples(res) > 0;
	PQclear(res);
	if (result)
		pg_log_info(role ? "role \"%s\" already exists, skipping" :
					"tablespace \"%s\" already exists, skipping", printable(name));
	return result;
}

static void
run_statement(GlobalsApply *apply, const char *statement)
{
	PGresult   *res;

	interrupt_check();
	if (is_there(apply, statement))
		return;
	res = execute(apply, statement);
	if (PQresultStatus(res) != PGRES_COMMAND_OK &&
		PQresultStatus(res) != PGRES_TUPLES_OK)
	{
		interrupt_check();
		note_error(apply, statement, res);
	}
	PQclear(res);
}

/* Does the statement change the attributes or settings of this role? */
static bool
is_about(const char *statement, const char *role)
{
	const char *pos = globals_script_after(statement, "ALTER ROLE");
	char	   *name = pos ? globals_script_name(&pos) : NULL;

	return name && strcmp(name, role) == 0;
}

/*
 * Statements about the role that connects wait until the end: they may change
 * its password, or revoke what it needs.  SET statements are both run and
 * kept, since the kept statements need the same settings later.
 */
void
globals_apply(GlobalsApply *apply, const GlobalsScript *script)
{
	const char *self = PQuser(apply->conn);

	/* A membership that exists already should not cause a notice either. */
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
	/* The first statements may have set timeouts for this role. */
	session_end_timeouts(apply->conn);
	for (int i = 0; i < apply->n_kept; i++)
		run_statement(apply, apply->kept[i]);
	apply->n_kept = 0;
}

/*
 * pg_shdepend contains all owners and privileges, except those of the
 * superuser of initdb, on whom everything depends.  The listed kinds are the
 * objects of this superuser that are not part of a new cluster.  Predefined
 * roles exist everywhere.
 */
static const char needed_query[] =
"WITH RECURSIVE this AS (SELECT d.oid, d.datdba FROM pg_catalog.pg_database d"
" WHERE d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()),"
" needed (role) AS ((SELECT s.refobjid FROM pg_catalog.pg_shdepend s, this t"
" WHERE s.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_authid'::pg_catalog.regclass"
" AND (s.dbid OPERATOR(pg_catalog.=) t.oid"
" OR (s.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_database'::pg_catalog.regclass"
" AND s.objid OPERATOR(pg_catalog.=) t.oid))"
" UNION SELECT t.datdba FROM this t"
" UNION SELECT g.setrole FROM pg_catalog.pg_db_role_setting g, this t"
" WHERE g.setdatabase OPERATOR(pg_catalog.=) t.oid"
" UNION SELECT c.relowner FROM pg_catalog.pg_class c"
" WHERE c.oid OPERATOR(pg_catalog.>=) 16384"
" UNION SELECT n.nspowner FROM pg_catalog.pg_namespace n"
" WHERE n.oid OPERATOR(pg_catalog.>=) 16384"
" UNION SELECT p.proowner FROM pg_catalog.pg_proc p"
" WHERE p.oid OPERATOR(pg_catalog.>=) 16384"
" UNION SELECT y.typowner FROM pg_catalog.pg_type y"
" WHERE y.oid OPERATOR(pg_catalog.>=) 16384)"
" UNION SELECT also.role FROM needed x"
" JOIN pg_catalog.pg_auth_members m ON m.member OPERATOR(pg_catalog.=) x.role,"
" LATERAL (VALUES (m.roleid), (m.grantor)) also (role))"
" SELECT r.rolname FROM pg_catalog.pg_roles r JOIN needed x"
" ON x.role OPERATOR(pg_catalog.=) r.oid"
" WHERE r.rolname OPERATOR(pg_catalog.!~) '^pg_'";

static const char target_query[] =
"SELECT r.rolname FROM pg_catalog.pg_roles r";

/* Read names of roles, one per row. */
static PGresult *
read_names(PGconn *conn, const char *query)
{
	/* The names are compared as bytes, in any encoding. */
	cluster_session_set_up(conn);
	return session_query(conn, query);
}

static bool
has(const PGresult *names, const char *name)
{
	for (int i = 0; name && i < PQntuples(names); i++)
		if (strcmp(PQgetvalue(names, i, 0), name) == 0)
			return true;
	return false;
}

/*
 * The role that a statement of pg_dumpall --roles-only concerns; for a
 * membership the member.  Owned; NULL for other statements.  *rest is the
 * following text.
 */
static char *
subject(const char *statement, const char **rest)
{
	static const char *const begins[] = {
		"CREATE ROLE", "ALTER ROLE", "COMMENT ON ROLE"
	};
	const char *pos;

	for (int i = 0; i < (int) lengthof(begins); i++)
	{
		*rest = globals_script_after(statement, begins[i]);
		if (*rest)
			return globals_script_name(rest);
	}
	pos = globals_script_after(statement, "GRANT");
	if (pos)
	{
		free(globals_script_name(&pos));
		*rest = globals_script_after(pos, " TO");
		return *rest ? globals_script_name(rest) : NULL;
	}
	if (globals_script_after(statement, "SECURITY LABEL"))
	{
		pos = strstr(statement, " ON ROLE ");
		*rest = pos ? pos + strlen(" ON ROLE ") : NULL;
		return pos ? globals_script_name(rest) : NULL;
	}
	return NULL;
}

/*
 * Keep the grantor of a membership if that role exists on the target, or will
 * exist; otherwise remove the clause, so that the role that connects becomes
 * the grantor.
 */
static void
keep_grantor(char *statement, const char *rest, const PGresult *needed,
			 const PGresult *there)
{
	const char *grantor = strstr(rest, " GRANTED BY ");
	const char *pos;
	char	   *name;

	if (grantor == NULL || globals_script_after(statement, "GRANT") == NULL)
		return;
	pos = grantor + strlen(" GRANTED BY ");
	name = globals_script_name(&pos);
	if (!has(needed, name) && !has(there, name))
		statement[grantor - statement] = '\0';
}

/*
 * Keep the statements about roles that are needed and do not exist yet, and
 * the settings of the session.
 */
static void
select_statements(GlobalsScript *script, const PGresult *needed,
				  const PGresult *there)
{
	int			n = 0;

	for (int i = 0; i < script->n; i++)
	{
		char	   *statement = script->statements[i];
		const char *rest;
		char	   *name = subject(statement, &rest);

		if (has(needed, name) && !has(there, name))
		{
			keep_grantor(statement, rest, needed, there);
			script->statements[n++] = statement;
		}
		else if (globals_script_after(statement, "SET"))
			script->statements[n++] = statement;
	}
	script->n = n;
}

void
role_copy(const Options *options, const char *argv0)
{
	ConnParams	params = {.dbname = options->target,
		.prompt_password = options->connection.prompt_password
	};
	GlobalsApply apply = {.exit_on_error = true};
	PGconn	   *source = connection_open_leader(options, "pg_pardump");
	PGresult   *needed;
	PGresult   *there;
	GlobalsScript *script;

	interrupt_install_leader();
	needed = read_names(source, needed_query);
	script = globals_script_parse(globals_read(source,
											   peer_address_new(source, false,
																options->connection.dbname,
																options->password_command),
											   GLOBALS_ROLES, options, argv0));
	cluster_session_close(source);

	apply.conn = connection_open_params(&params, options->target_password_command,
										"pg_pardump");
	there = read_names(apply.conn, target_query);
	select_statements(script, needed, there);
	globals_apply(&apply, script);
	cluster_session_close(apply.conn);
}
