/*
 * leaf_keys.c
 *		Creates foreign keys of partitioned tables partition by partition,
 *		concurrently.
 *
 * leaf_keys.h explains why.  The statement in the archive must have the form
 * that pg_dump writes; anything else is left to the server.  A key that fails
 * here is not an error: it is dropped, and the table's own statement, which
 * follows, reports what is wrong.
 *
 * This process drives all sessions with poll(), because each only sends a few
 * statements and waits.
 */
#include "base/fe_compat.h"

#include <poll.h>

#include "base/buffer.h"
#include "base/identifier.h"
#include "base/interrupt.h"
#include "load/leaf_keys.h"

/*
 * A smaller partition is checked in less time than a separate session needs.
 */
#define LEAST_BYTES ((uint64) 8 * 1024 * 1024)

/* the first server that allows NOT VALID keys of partitioned tables */
#define MIN_SERVER_FOR_NOT_VALID 180000

/* ----------
 * The archive's statement
 * ----------
 */

/* Take the identifier before stop, and advance *text beyond it; owned. */
static char *
take_identifier(const char **text, char stop)
{
	const char *end = identifier_skip(*text, stop);
	char	   *result = pnstrdup(*text, end - *text);

	*text = end;
	return result;
}

/*
 * Parse the statement as pg_dump.c:dumpConstraint writes it: without ONLY if
 * the table is partitioned.  Returns false if it is another kind of
 * statement, or the key need not be validated.
 */
static bool
read_key(const TocEntry *entry, TableKey *key, char **referenced)
{
	const char *text = entry->defn ? text_after(entry->defn, "ALTER TABLE ") : NULL;
	const char *columns;
	const char *begin;
	size_t		len;

	if (text == NULL || text_after(text, "ONLY "))
		return false;
	key->table = take_identifier(&text, '\n');
	text = text_after(text, "\n    ADD CONSTRAINT ");
	if (text == NULL)
		return false;
	key->name = take_identifier(&text, ' ');
	columns = text_after(text, " FOREIGN KEY (");
	len = strlen(text);
	if (columns == NULL || strcmp(text + len - 2, ";\n") != 0)
		return false;
	begin = text + 1;
	key->definition = pnstrdup(begin, len - 3);
	text = text_after(identifier_skip(columns, ')'), ") REFERENCES ");
	if (text == NULL || strstr(text, " NOT VALID") ||
		strstr(text, " NOT ENFORCED"))
		return false;
	*referenced = take_identifier(&text, '(');
	key->columns = pnstrdup(begin, identifier_skip(text, ')') - begin);
	return true;
}

/* ----------
 * The target's tables
 * ----------
 */

/*
 * The tables of a partition tree.  There are no rows if the referenced table
 * is partitioned, and so gets its unique index only later; if a name is in
 * use; if a partition has a key that could become part of the table's key; or
 * if a table in the tree cannot have the key.  With --resume ($4), an earlier
 * run may have left keys with these names.  The tables above the tree are
 * included, with size 0.
 */
static const char tree_query[] =
"WITH tree AS (SELECT c.oid, c.relkind, c.relname, n.nspname, t.below"
" FROM (SELECT relid, true FROM pg_catalog.pg_partition_tree(pg_catalog.to_regclass($1))"
" UNION ALL SELECT relid, false FROM pg_catalog.pg_partition_ancestors(pg_catalog.to_regclass($1))"
" WHERE relid OPERATOR(pg_catalog.<>) pg_catalog.to_regclass($1)) t (relid, below)"
" JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) t.relid"
" JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace)"
" SELECT pg_catalog.format('%I.%I', nspname, relname), nspname, relname,"
" CASE WHEN below AND relkind OPERATOR(pg_catalog.=) 'r'"
" THEN pg_catalog.pg_relation_size(oid) ELSE 0 END"
" FROM tree"
" WHERE EXISTS (SELECT FROM pg_catalog.pg_class r"
" WHERE r.oid OPERATOR(pg_catalog.=) pg_catalog.to_regclass($2)"
" AND r.relkind OPERATOR(pg_catalog.=) 'r')"
" AND NOT EXISTS (SELECT FROM pg_catalog.pg_constraint k JOIN tree"
" ON k.conrelid OPERATOR(pg_catalog.=) tree.oid AND below"
" WHERE (k.conname OPERATOR(pg_catalog.=) $3::pg_catalog.name"
" OR (k.contype OPERATOR(pg_catalog.=) 'f'"
" AND tree.oid OPERATOR(pg_catalog.<>) pg_catalog.to_regclass($1)"
" AND k.confrelid OPERATOR(pg_catalog.=) pg_catalog.to_regclass($2)"
" AND k.conparentid OPERATOR(pg_catalog.=) 0::pg_catalog.oid))"
" AND NOT ($4::pg_catalog.bool AND tree.relkind OPERATOR(pg_catalog.=) 'r'"
" AND k.contype OPERATOR(pg_catalog.=) 'f'"
" AND k.conparentid OPERATOR(pg_catalog.=) 0::pg_catalog.oid))"
" AND NOT EXISTS (SELECT FROM tree"
" WHERE below AND relkind OPERATOR(pg_catalog.<>) ALL ('{r,p}'::pg_catalog.\"char\"[]))";

/*
 * Would another entry compete for the name, or for the partitions' keys?  Its
 * own statement would then fail, or take a key that is meant for this one.
 */
static bool
has_rival(const Toc *toc, const TableKey *key, const PGresult *tree)
{
	char	   *name = identifier_unquote(key->name);
	bool		found = false;

	for (int i = 0; i < toc->n_entries && !found; i++)
	{
		const TocEntry *entry = &toc->entries[i];

		if (i == key->entry || entry->namespace == NULL ||
			strstr(entry->desc, "CONSTRAINT") == NULL)
			continue;
		for (int j = 0; j < PQntuples(tree) && !found; j++)
		{
			const char *its = text_after(entry->tag, PQgetvalue(tree, j, 2));

			found = its && *its == ' ' &&
				strcmp(entry->namespace, PQgetvalue(tree, j, 1)) == 0 &&
				(strcmp(its + 1, name) == 0 ||
				 (entry->defn && strstr(entry->defn, key->columns)));
		}
	}
	return found;
}

/*
 * Count the large partitions: with fewer than two, nothing could run
 * concurrently.
 */
static int
count_large(const PGresult *tree)
{
	int			n = 0;

	for (int i = 0; i < PQntuples(tree); i++)
		n += result_number(tree, i, 3) >= LEAST_BYTES;
	return n;
}

/*
 * Add the large partitions among the rows.  Their keys have the table's name,
 * or the one in this column.
 */
static void
add_leaves(LeafKeys *keys, const PGresult *rows, int bytes_column,
		   int name_column, bool made)
{
	for (int i = 0; i < PQntuples(rows); i++)
	{
		uint64		bytes = result_number(rows, i, bytes_column);
		LeafKey    *leaf;

		if (bytes < LEAST_BYTES)
			continue;
		leaf = array_add(keys->leaves, keys->n_leaves);
		leaf->leaf = pg_strdup(PQgetvalue(rows, i, 0));
		leaf->name = name_column < 0 ? keys->keys[keys->n_keys - 1].name :
			pg_strdup(PQgetvalue(rows, i, name_column));
		leaf->key = keys->n_keys - 1;
		leaf->bytes = bytes;
		leaf->made = made;
	}
}

/* ----------
 * Keys that tables get first, NOT VALID
 * ----------
 */

/* The partitions with the table's key, and its name there. */
static const char leaves_query[] =
"WITH RECURSIVE keys AS (SELECT k.oid, k.conrelid, k.conname, k.convalidated"
" FROM pg_catalog.pg_constraint k"
" WHERE k.conrelid OPERATOR(pg_catalog.=) pg_catalog.to_regclass($1)"
" AND k.conname OPERATOR(pg_catalog.=) $2::pg_catalog.name"
" AND k.contype OPERATOR(pg_catalog.=) 'f'"
" UNION ALL SELECT k.oid, k.conrelid, k.conname, k.convalidated"
" FROM pg_catalog.pg_constraint k"
" JOIN keys ON k.conparentid OPERATOR(pg_catalog.=) keys.oid)"
" SELECT pg_catalog.format('%I.%I', n.nspname, c.relname),"
" pg_catalog.quote_ident(keys.conname), pg_catalog.pg_relation_size(c.oid)"
" FROM keys JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) keys.conrelid"
" JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace"
" WHERE c.relkind OPERATOR(pg_catalog.=) 'r' AND NOT keys.convalidated";

/* The statement that adds or validates a table's key; owned. */
static char *
table_statement(const TableKey *key, bool add)
{
	return add ? psprintf("ALTER TABLE %s ADD CONSTRAINT %s %s NOT VALID",
						  key->table, key->name, key->definition) :
		psprintf("ALTER TABLE %s VALIDATE CONSTRAINT %s", key->table, key->name);
}

/*
 * Run a statement together with its line in the journal; the line must not
 * exist yet.  Returns false if the statement fails, which the table's own
 * statement will report.
 */
static bool
run_with_line(PGconn *conn, const RestoreJournal *journal, const char *line, char *sql)
{
	PGresult   *res;
	bool		ok;

	(void) session_try_begin(conn, "BEGIN", -1);
	res = session_exec(conn, sql);
	ok = PQresultStatus(res) == PGRES_COMMAND_OK;
	if (!ok)
		pg_log_info("%s: %s", printable(sql), PQresultErrorMessage(res));
	else
		restore_journal_done(journal, conn, line, 0);
	PQclear(res);
	res = session_exec(conn, ok ? "COMMIT" : "ROLLBACK");
	ok = ok && PQresultStatus(res) == PGRES_COMMAND_OK;
	PQclear(res);
	return ok;
}

/*
 * The line of a table's key that was begun, which shows that this program has
 * created the key.
 */
static char *
line_of_begin(const TocEntry *entry)
{
	return psprintf("entry %d begun", entry->dump_id);
}

static void
finish_table(PGconn *conn, TableKey *key, RestoreSchedule *schedule,
			 const RestoreJournal *journal)
{
	const TocEntry *entry = &schedule->toc->entries[key->entry];

	if (run_with_line(conn, journal, restore_journal_entry(entry),
					  table_statement(key, false)))
		schedule->phases[key->entry] = RESTORE_NEVER;
	else
		key->failed = true;
}

void
leaf_keys_finish(PGconn *conn, LeafKeys *keys, RestoreSchedule *schedule,
				 const RestoreJournal *journal)
{
	for (int i = 0; i < keys->n_keys; i++)
		if (keys->keys[i].of_table && !keys->keys[i].failed)
			finish_table(conn, &keys->keys[i], schedule, journal);
}

/* ----------
 * The keys of all partitions
 * ----------
 */
static void
keep_key(LeafKeys *keys, const TableKey *key)
{
	*array_add(keys->keys, keys->n_keys) = *key;
}

/* The rows of tree_query; owned. */
static PGresult *
look_at_tree(PGconn *conn, const TableKey *key, const char *referenced,
			 bool may_have)
{
	const char *params[] = {key->table, referenced,
	identifier_unquote(key->name), may_have ? "t" : "f"};

	/*
	 * After an error there are no rows, and the table's own statement will
	 * report the error.
	 */

	return PQexecParams(conn, tree_query, 4, NULL, params, NULL, NULL, 0);
}

/* Add the partitions of a table that has the key by now. */
static void
add_table_key(PGconn *conn, LeafKeys *keys, const TableKey *key)
{
	const char *params[] = {key->table, identifier_unquote(key->name)};
	PGresult   *leaves = PQexecParams(conn, leaves_query, 2, NULL, params,
									  NULL, NULL, 0);

	keep_key(keys, key);
	add_leaves(keys, leaves, 2, 1, false);
	PQclear(leaves);
}

static void
add_key(PGconn *conn, LeafKeys *keys, const Toc *toc, int no, const RestoreJournal *journal)
{
	const TocEntry *entry = &toc->entries[no];
	TableKey	key = {.entry = no,
	.of_table = PQserverVersion(conn) >= MIN_SERVER_FOR_NOT_VALID};
	bool		may_have = journal && journal->is_resumed && !key.of_table;
	char	   *referenced;
	PGresult   *tree;
	bool		is_worth_it;

	if (!read_key(entry, &key, &referenced))
		return;
	tree = look_at_tree(conn, &key, referenced, may_have);
	is_worth_it = count_large(tree) >= 2 && !has_rival(toc, &key, tree);
	if (key.of_table)
	{
		if (restore_journal_has(journal, line_of_begin(entry)) ||
			(is_worth_it && run_with_line(conn, journal, line_of_begin(entry),
										  table_statement(&key, true))))
			add_table_key(conn, keys, &key);
	}

	/*
	 * Not SET NULL (a) or SET DEFAULT (a): for these, the table's statement
	 * gives a partition's key the column numbers of the table instead of the
	 * partition's (tablecmds.c:addFkRecurseReferencing).
	 */
	else if (is_worth_it &&
			 !strstr(key.definition, " ON DELETE SET NULL (") &&
			 !strstr(key.definition, " ON DELETE SET DEFAULT ("))
	{
		keep_key(keys, &key);
		add_leaves(keys, tree, 3, -1, may_have);
	}
	PQclear(tree);
}

static int
compare_leaves(const void *a, const void *b)
{
	const LeafKey *l1 = a;
	const LeafKey *l2 = b;

	if (l1->bytes != l2->bytes)
		return l1->bytes > l2->bytes ? -1 : 1;

	/*
	 * Two keys of one partition wait for each other, so they should not be
	 * adjacent.
	 */
	return l1->key - l2->key;
}

/* ----------
 * Keys that did not become parts of the tables' keys
 * ----------
 */

/* A key that is not part of another key and, if $3 is true, is NOT VALID. */
static const char own_query[] =
"SELECT 1 FROM pg_catalog.pg_constraint k"
" WHERE k.conrelid OPERATOR(pg_catalog.=) pg_catalog.to_regclass($1)"
" AND k.conname OPERATOR(pg_catalog.=) $2::pg_catalog.name"
" AND k.contype OPERATOR(pg_catalog.=) 'f'"
" AND k.conparentid OPERATOR(pg_catalog.=) 0::pg_catalog.oid"
" AND NOT (k.convalidated AND $3::pg_catalog.bool)";

static void
drop_key(PGconn *conn, const char *table, const char *name, bool of_table)
{
	const char *params[] = {table, identifier_unquote(name), of_table ? "t" : "f"};
	char	   *sql = psprintf("ALTER TABLE %s DROP CONSTRAINT %s", table, name);
	PGresult   *res = PQexecParams(conn, own_query, 3, NULL, params, NULL,
								   NULL, 0);
	bool		is_there = PQntuples(res) > 0;

	if (is_there)
	{
		PQclear(res);
		res = session_exec(conn, sql);
	}
	if (PQresultStatus(res) != PGRES_COMMAND_OK &&
		PQresultStatus(res) != PGRES_TUPLES_OK)
	{
		pg_log_error("could not drop incomplete constraint %s of table %s: %s",
					 printable(name), printable(table),
					 PQresultErrorMessage(res));
		pg_log_error_hint("Run the command yourself: %s;", printable(sql));
	}
	PQclear(res);
}

void
leaf_keys_drop(PGconn *conn, LeafKeys *keys, bool all)
{
	for (int i = 0; i < keys->n_keys; i++)
	{
		TableKey   *key = &keys->keys[i];

		if (!key->of_table || !key->failed)
			continue;
		drop_key(conn, key->table, key->name, true);
		key->of_table = false;
	}
	for (int i = 0; i < keys->n_leaves; i++)
	{
		LeafKey    *leaf = &keys->leaves[i];

		if (!leaf->made || (!all && !keys->keys[leaf->key].failed))
			continue;
		drop_key(conn, leaf->leaf, leaf->name, false);
		leaf->made = false;
	}
}

/*
 * Keys that an earlier run has left behind are dropped first, because it may
 * have been interrupted before it validated them.
 */
LeafKeys *
leaf_keys_find(PGconn *conn, const RestoreSchedule *schedule,
			   const RestoreJournal *journal)
{
	const Toc  *toc = schedule->toc;
	LeafKeys   *keys = pg_malloc0(sizeof(LeafKeys));

	for (int i = 0; i < toc->n_entries; i++)
		if (schedule->phases[i] == RESTORE_POST_DATA &&
			toc_entry_is(&toc->entries[i], "FK CONSTRAINT") &&
			!restore_journal_has(journal, restore_journal_entry(&toc->entries[i])))
			add_key(conn, keys, toc, i, journal);
	if (keys->n_leaves > 0)
		qsort(keys->leaves, keys->n_leaves, sizeof(LeafKey), compare_leaves);
	/* Drop keys of an earlier run, which may not be valid. */
	leaf_keys_drop(conn, keys, true);
	return keys;
}

/* ----------
 * The sessions that create the keys of partitions concurrently.
 *
 * A partition gets its key with two statements, unless it already has the key
 * from its table, because of the locks.  ADD needs a lock of the referenced
 * table that conflicts with the same lock of other sessions, but with NOT
 * VALID only for a moment.  VALIDATE, which reads all rows, needs no such
 * lock.
 * ----------
 */

/* How long to wait before all sessions are checked. */
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
	LeafStep	step;			/* the current step */
	LeafKey    *leaf;
} LeafSession;

typedef struct LeafSessions
{
	LeafKeys   *keys;
	LeafSession *sessions;
	int			n_sessions;
	int			next;			/* the next one of keys->leaves */
	int			n_busy;
} LeafSessions;

/* Memory as in pg_restore's sessions, because the check is a join. */
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
	pg_log_info("creating constraint %s of table %s at once, because it could not be created on partition %s: %s",
				printable(key->name), printable(key->table),
				printable(session->leaf->leaf), reason);
}

/* The session has nothing more to do, or is lost. */
static void
rest(LeafSessions *all, LeafSession *session)
{
	session->step = STEP_NONE;
	all->n_busy--;
}

/*
 * Send the statement of a step.  From ADD on the key may exist on the
 * partition, even if the answer is lost.  So this is noted before the
 * statement is sent, and noted keys are looked for, and dropped, at the end.
 */
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
	/* From now on only the catalog shows whether the key exists. */
	if (step == STEP_ADD)
		session->leaf->made = true;
	if (PQsendQuery(session->conn, sql) != 1)
	{
		leaf_failed(all, session, PQerrorMessage(session->conn));
		rest(all, session);
	}
}

/* Assign the next partition to the session, if there is one. */
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

/* Take the result of the session's statement. */
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

/*
 * Wait until at least one of the sessions has an answer, and continue with
 * these.  poll() also returns after a moment without any input, so that
 * signals are noticed.
 */
static void
wait_for_any(LeafSessions *all)
{
	struct pollfd *fds = pg_malloc0(all->n_sessions * sizeof(struct pollfd));

	for (int i = 0; i < all->n_sessions; i++)
	{
		const LeafSession *session = &all->sessions[i];

		/* poll() ignores negative descriptors. */
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
		/* A read error becomes the error of the result. */
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
}
