/*
 * leaf_key_sessions.c
 *		Makes foreign keys of partitions, side by side.
 *
 * Two statements each, unless it has the key by its table, for the locks:
 * ADD needs one of the referenced table that no other session's may have at
 * the same time, but with NOT VALID only for a moment.  VALIDATE, which reads
 * all rows, needs none that would keep others out.
 */
#include "base/fe_compat.h"

#include <poll.h>

#include "base/interrupt.h"
#include "base/message.h"
#include "definitions/leaf_key_sessions.h"
#include "session/session.h"

/* How long to wait before input is looked for in any case. */
#define MOMENT_MS 100

typedef enum LeafStep
{
	STEP_NONE,					/* nothing to do */
	STEP_ADD,
	STEP_VALIDATE
} LeafStep;

typedef struct LeafSession
{
	PGconn	   *conn;
	LeafStep	step;			/* that it is at */
	LeafKey    *leaf;
} LeafSession;

typedef struct LeafSessions
{
	LeafKeys   *keys;
	LeafSession *sessions;
	int			n_sessions;
	int			next;			/* of keys->leaves */
	int			n_busy;
} LeafSessions;

/* As pg_restore's sessions have it: the check is a join. */
static const char memory_query[] =
"SELECT pg_catalog.set_config(name,"
" GREATEST(setting::pg_catalog.int8, 262144)::pg_catalog.text, false)"
" FROM pg_catalog.pg_settings"
" WHERE name OPERATOR(pg_catalog.=) 'maintenance_work_mem'";

static void
leaf_failed(LeafSessions *all, const LeafSession *session, const char *reason)
{
	TableKey   *key = &all->keys->keys[session->leaf->key];

	key->failed = true;
	pg_log_info("constraint %s of table %s is made at once, as it could not be made of partition %s: %s",
				printable(key->name), printable(key->table),
				printable(session->leaf->leaf), reason);
}

/* Nothing to do any more, or nobody to do it. */
static void
rest(LeafSessions *all, LeafSession *session)
{
	session->step = STEP_NONE;
	all->n_busy--;
}

/* Send the statement of a step. */
static void
begin_step(LeafSessions *all, LeafSession *session, LeafStep step)
{
	const TableKey *key = &all->keys->keys[session->leaf->key];
	char	   *sql = step == STEP_ADD ?
		psprintf("ALTER TABLE ONLY %s ADD CONSTRAINT %s %s NOT VALID",
				 session->leaf->leaf, session->leaf->name, key->definition) :
		psprintf("ALTER TABLE ONLY %s VALIDATE CONSTRAINT %s",
				 session->leaf->leaf, session->leaf->name);

	session->step = step;
	/* from now on nobody knows, until the catalog is asked */
	if (step == STEP_ADD)
		session->leaf->made = true;
	if (PQsendQuery(session->conn, sql) != 1)
	{
		leaf_failed(all, session, PQerrorMessage(session->conn));
		rest(all, session);
	}
	free(sql);
}

/* Give it the next partition, if there is one. */
static void
begin_next(LeafSessions *all, LeafSession *session)
{
	LeafKeys   *keys = all->keys;

	while (all->next < keys->n_leaves)
	{
		const TableKey *key;

		session->leaf = &keys->leaves[all->next++];
		key = &keys->keys[session->leaf->key];
		if (!key->failed)
		{
			begin_step(all, session, key->of_table ? STEP_VALIDATE : STEP_ADD);
			return;
		}
	}
	rest(all, session);
}

/* The session has the result of its statement. */
static void
end_step(LeafSessions *all, LeafSession *session)
{
	const TableKey *key = &all->keys->keys[session->leaf->key];
	bool		lost;
	PGresult   *res = PQgetResult(session->conn);

	if (res && PQresultStatus(res) != PGRES_COMMAND_OK)
		leaf_failed(all, session, PQresultErrorMessage(res));
	PQclear(res);
	session_end_results(session->conn);
	lost = PQstatus(session->conn) != CONNECTION_OK;
	if (lost && !key->failed)
		leaf_failed(all, session, PQerrorMessage(session->conn));
	if (lost)
		rest(all, session);
	else if (session->step == STEP_ADD && !key->failed)
		begin_step(all, session, STEP_VALIDATE);
	else
		begin_next(all, session);
}

/* Wait until one of them has something, and go on with those that have. */
static void
wait_for_any(LeafSessions *all)
{
	struct pollfd *fds = pg_malloc0(all->n_sessions * sizeof(struct pollfd));

	for (int i = 0; i < all->n_sessions; i++)
	{
		const LeafSession *session = &all->sessions[i];

		/* poll() passes over what is negative */
		fds[i].fd = session->step == STEP_NONE ? -1 : PQsocket(session->conn);
		fds[i].events = POLLIN;
	}
	(void) poll(fds, all->n_sessions, MOMENT_MS);
	interrupt_check();
	for (int i = 0; i < all->n_sessions; i++)
	{
		LeafSession *session = &all->sessions[i];

		if (session->step == STEP_NONE)
			continue;
		/* what cannot be read is an error of the result's */
		(void) PQconsumeInput(session->conn);
		if (!PQisBusy(session->conn))
			end_step(all, session);
	}
	free(fds);
}

void
leaf_key_sessions_run(const Target *target, LeafKeys *keys, int n_sessions)
{
	LeafSessions all = {.keys = keys};

	all.n_sessions = Min(n_sessions, keys->n_leaves);
	all.sessions = pg_malloc0((all.n_sessions + 1) * sizeof(LeafSession));
	all.n_busy = all.n_sessions;
	for (int i = 0; i < all.n_sessions; i++)
	{
		PGconn	   *conn = target_connect(target);
		bool		begun = session_begin_settings(conn);

		PQclear(session_query(conn, memory_query));
		session_end_settings(conn, begun);
		all.sessions[i].conn = conn;
	}
	for (int i = 0; i < all.n_sessions; i++)
		begin_next(&all, &all.sessions[i]);
	while (all.n_busy > 0)
		wait_for_any(&all);
	interrupt_set_connection(target->conn);
	for (int i = 0; i < all.n_sessions; i++)
		session_close(all.sessions[i].conn);
	free(all.sessions);
}
