/*
 * restore_freeze.c
 *		Tables that are truncated, and then filled with frozen rows.
 */
#include "base/fe_compat.h"

#include "restore/restore_freeze.h"
#include "session/session.h"
#include "session/session_loss.h"

/* A new file for a smaller table would cost more than it saves. */
#define LEAST_BYTES ((uint64) 1024 * 1024)

/* Is the table loaded as itself, and worth it? */
static bool
is_candidate(const DumpTable *table)
{
	return table->has_definition && table->total_bytes >= LEAST_BYTES &&
		strcmp(table->name, table->copy_name) == 0;
}

bool *
restore_freeze_choose(const Target *target, const DumpPlan *plan,
					  const bool *before, const bool *after)
{
	int			n_tables = plan->tables->n_tables;
	bool	   *chosen;

	if (strcmp(target->wal_level, "logical") == 0)
		return NULL;
	chosen = pg_malloc0((n_tables + 1) * sizeof(bool));
	for (int i = 0; i < n_tables; i++)
		chosen[i] = !before[i] && after[i] &&
			is_candidate(&plan->tables->tables[i]);
	return chosen;
}

/*
 * One step of it, which has a row if what was asked for is so.  Returns what
 * is wrong, owned, or NULL.
 */
static char *
take_step(PGconn *conn, const char *sql, int n_params, const char *param,
		  bool *has_row)
{
	PGresult   *res = PQexecParams(conn, sql, n_params, NULL, &param, NULL,
								   NULL, 0);
	char	   *error = NULL;

	*has_row = PQresultStatus(res) == PGRES_TUPLES_OK && PQntuples(res) > 0;
	if (PQresultStatus(res) != PGRES_COMMAND_OK &&
		PQresultStatus(res) != PGRES_TUPLES_OK)
	{
		if (session_is_lost(conn, res))
			session_failed(conn, res, "query failed", sql);
		error = session_error_words(conn, res);
	}
	PQclear(res);
	return error;
}

/* An ordinary table, which may be locked and truncated. */
static const char allowed_query[] =
"SELECT 1 FROM pg_catalog.pg_class c"
" WHERE c.oid OPERATOR(pg_catalog.=) $1::pg_catalog.oid"
" AND c.relkind OPERATOR(pg_catalog.=) 'r'"
" AND pg_catalog.has_table_privilege(c.oid, 'TRUNCATE')";

/*
 * It is this one that is locked, and it has no row, not even one that nobody
 * sees any more.
 */
static const char empty_query[] =
"SELECT 1 FROM pg_catalog.pg_locks l"
" WHERE l.pid OPERATOR(pg_catalog.=) pg_catalog.pg_backend_pid()"
" AND l.locktype OPERATOR(pg_catalog.=) 'relation'"
" AND l.relation OPERATOR(pg_catalog.=) $1::pg_catalog.oid"
" AND l.mode OPERATOR(pg_catalog.=) 'AccessExclusiveLock' AND l.granted"
" AND pg_catalog.pg_relation_size(l.relation) OPERATOR(pg_catalog.=) 0";

/* It is this one that the transaction has given another file. */
static const char truncated_query[] =
"SELECT 1 FROM pg_catalog.pg_class c"
" WHERE c.oid OPERATOR(pg_catalog.=) $1::pg_catalog.oid"
" AND c.xmin OPERATOR(pg_catalog.=) pg_catalog.pg_current_xact_id()::pg_catalog.xid";

/*
 * With the lock, what is seen stays so.  But a name may be given to another
 * table between any two statements.
 */
static char *
lock_and_truncate(PGconn *conn, const char *name, const char *oid, bool *done)
{
	char	   *lock = psprintf("LOCK TABLE ONLY %s IN ACCESS EXCLUSIVE MODE",
								name);
	char	   *truncate = psprintf("TRUNCATE TABLE ONLY %s", name);
	bool		yes;
	char	   *error = take_step(conn, lock, 0, NULL, &yes);

	if (error == NULL)
		error = take_step(conn, empty_query, 1, oid, &yes);
	if (error == NULL && yes)
	{
		error = take_step(conn, truncate, 0, NULL, &yes);
		if (error == NULL)
			error = take_step(conn, truncated_query, 1, oid, &yes);
		if (error == NULL && !yes)
			error = pg_strdup("the table's name has been given to another table");
		*done = error == NULL;
	}
	free(truncate);
	free(lock);
	return error;
}

char *
restore_freeze_truncate(PGconn *conn, const char *name, Oid table, bool *done)
{
	char	   *oid = psprintf("%u", table);
	bool		yes;
	char	   *error = take_step(conn, allowed_query, 1, oid, &yes);

	*done = false;
	if (error == NULL && yes)
		error = lock_and_truncate(conn, name, oid, done);
	free(oid);
	return error;
}

char *
restore_freeze_statement(const char *copy)
{
	static const char end[] = " FROM stdin";
	size_t		len = strlen(copy);

	while (len > 0 && strchr("; \n", copy[len - 1]) != NULL)
		len--;
	if (len < sizeof(end) - 1 ||
		strncmp(copy + len - (sizeof(end) - 1), end, sizeof(end) - 1) != 0)
		return NULL;
	return psprintf("%.*s WITH (FREEZE)", (int) len, copy);
}
