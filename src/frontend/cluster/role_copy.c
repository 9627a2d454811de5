/*
 * role_copy.c
 *		Makes the roles that a database needs on the target of a copy.
 */
#include "base/fe_compat.h"

#include "base/interrupt.h"
#include "cluster/globals.h"
#include "cluster/role_copy.h"
#include "session/connection.h"
#include "session/session_settings.h"
#include "stock/stock_pg_dump.h"

/*
 * What has an owner or privileges is noted in pg_shdepend, but for the
 * superuser of initdb's, on whom everything depends.  Of its objects these
 * are of an own making.  Roles that the server makes are everywhere.
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

/* Roles by their names. */
typedef struct RoleNames
{
	PGresult   *rows;
} RoleNames;

static RoleNames
read_names(PGconn *conn, const char *query)
{
	RoleNames	names;

	session_end_timeouts(conn);
	/* their bytes are the same everywhere, in any encoding */
	session_set_encoding(conn, "SQL_ASCII");
	names.rows = session_query(conn, query);
	return names;
}

static bool
has(const RoleNames *names, const char *name)
{
	for (int i = 0; name && i < PQntuples(names->rows); i++)
		if (strcmp(PQgetvalue(names->rows, i, 0), name) == 0)
			return true;
	return false;
}

/* Needed, and not there yet. */
static bool
is_wanted(const RoleNames *needed, const RoleNames *there, const char *name)
{
	return has(needed, name) && !has(there, name);
}

/*
 * Which role a statement of pg_dumpall --roles-only is about, of a membership
 * the member; owned; NULL if it is none of those.  *rest is what follows.
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
 * A membership is granted by its grantor, if that role is or will be there;
 * else by the one that connects.
 */
static void
keep_grantor(char *statement, const char *rest, const RoleNames *needed,
			 const RoleNames *there)
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
	free(name);
}

/* Leave what is about roles that are wanted, and settings of the session. */
static void
select_statements(GlobalsScript *script, const RoleNames *needed,
				  const RoleNames *there)
{
	int			n = 0;

	for (int i = 0; i < script->n; i++)
	{
		char	   *statement = script->statements[i];
		const char *rest;
		char	   *name = subject(statement, &rest);

		if (name && is_wanted(needed, there, name))
		{
			keep_grantor(statement, rest, needed, there);
			script->statements[n++] = statement;
		}
		else if (globals_script_after(statement, "SET"))
			script->statements[n++] = statement;
		free(name);
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
	RoleNames	needed;
	RoleNames	there;
	GlobalsScript *script;
	char	   *text;

	interrupt_install_leader();
	needed = read_names(source, needed_query);
	text = globals_read(source, peer_address_new(source, false,
												 options->connection.dbname,
												 options->password_command),
						GLOBALS_ROLES, options, argv0);
	script = globals_script_parse(text);
	free(text);
	interrupt_set_connection(NULL);
	session_close(source);

	apply.conn = connection_open_params(&params, options->target_password_command,
										"pg_pardump");
	there = read_names(apply.conn, target_query);
	select_statements(script, &needed, &there);
	globals_apply(&apply, script);
	interrupt_set_connection(NULL);
	session_close(apply.conn);
	PQclear(needed.rows);
	PQclear(there.rows);
}
