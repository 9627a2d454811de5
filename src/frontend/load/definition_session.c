/*
 * definition_session.c
 *		A session with the settings that pg_restore's session would have.
 *
 * A definition in an archive relies on settings that pg_restore has made
 * before it: the role, the search path, the tablespace, the default table
 * access method.  A DefinitionSession remembers its settings, and only
 * changes those that differ from what an entry needs.  After a ROLLBACK the
 * settings are those from before the transaction, so the session remembers
 * both.
 *
 * The file also divides entries that stand for many large objects, which
 * pg_dump writes from 17 on.
 */
#include "base/fe_compat.h"

#include "common/connect.h"
#include "common/string.h"
#include "fe_utils/string_utils.h"

#include "base/buffer.h"
#include "base/interrupt.h"
#include "base/shared_memory.h"
#include "load/definition_session.h"
#include "session/session_lost.h"

/* ----------
 * Groups of large objects.
 * ----------
 */

#define DIGITS "0123456789"

#define CREATE_OBJECT "SELECT pg_catalog.lo_create('"

/* The text before an OID in the statement of an ACL. */
static const char object_words[] = "LARGE OBJECT ";

/* ----------
 * Parts
 * ----------
 */

/*
 * The group of large objects that the entry describes, or to which it grants
 * privileges; otherwise NULL.  Privileges name only the first object of the
 * group, so their group is found through the dependency.
 */
static const TocEntry *
find_group(const TocEntry *entry, const TocEntry *const *by_id,
		   int max_dump_id)
{
	const TocEntry *group = NULL;

	if (toc_entry_is(entry, "BLOB METADATA"))
		return entry;
	if (!toc_entry_is_group_privilege(entry))
		return NULL;
	if (entry->n_deps > 0 && entry->deps[0] > 0 && entry->deps[0] <= max_dump_id)
		group = by_id[entry->deps[0]];
	if (group == NULL || !toc_entry_is(group, "BLOB METADATA") ||
		group->defn == NULL)
		toc_damaged(psprintf("entry %d (\"%s\") has privileges of missing large objects",
							 entry->dump_id, printable(entry->tag)));
	return group;
}

/*
 * Append the parts of a group, and return the new number of entries.  A part
 * has so few objects that its transaction does not fill the lock table.
 */
static int
add_parts(ScriptEntry *entries, int n, const ScriptEntry *whole,
		  const TocEntry *group)
{
	const char *line = group->defn;

	for (int part = 0; *line; part++)
	{
		ScriptEntry *added = &entries[n++];

		*added = *whole;
		added->part = part;
		added->oids = line;
		while (*line && added->n_oids < OBJECT_GROUPS_PART)
		{
			size_t		len;

			/* Skip the line, which contains an OID. */
			len = strspn(line, DIGITS);
			if (len == 0 || len > 10 || line[len] != '\n')
				toc_damaged(psprintf("entry %d (\"%s\") is not a list of large objects",
									 group->dump_id, printable(group->tag)));
			line = line + len + 1;
			added->n_oids++;
		}
	}
	return n;
}

/* Returns the number of parts that the group may have. */
static int
count_parts(const TocEntry *group)
{
	int			n_lines = 0;

	for (const char *p = group->defn; *p; p++)
		n_lines += *p == '\n';
	return n_lines / OBJECT_GROUPS_PART + 1;
}

void
object_groups_divide(Script *script, const Toc *toc)
{
	const TocEntry **by_id = toc_entries_by_id(toc);
	const TocEntry **groups = pg_malloc((script->n_entries + 1) * sizeof(TocEntry *));
	ScriptEntry *entries;
	int			space = 1;
	int			n = 0;

	for (int i = 0; i < script->n_entries; i++)
	{
		groups[i] = find_group(script->entries[i].entry, by_id,
							   toc->max_dump_id);
		space += groups[i] ? count_parts(groups[i]) : 1;
	}
	entries = pg_malloc(space * sizeof(ScriptEntry));
	for (int i = 0; i < script->n_entries; i++)
	{
		if (groups[i])
			n = add_parts(entries, n, &script->entries[i], groups[i]);
		else
			entries[n++] = script->entries[i];
	}
	script->entries = entries;
	script->n_entries = n;
}

/* ----------
 * Statements
 * ----------
 */

/*
 * Append a statement for each OID of the lines, each followed by a zero byte,
 * and return their number.  A statement consists of a text before the OID and
 * one after it, which all OIDs of a group share.
 */
static int
write_for_each(PQExpBuffer text, const char *oids, int n_oids,
			   const char *before, int before_len,
			   const char *after, int after_len)
{
	for (int i = 0; i < n_oids; i++)
	{
		int			len = strspn(oids, DIGITS);

		appendBinaryPQExpBuffer(text, before, before_len);
		appendBinaryPQExpBuffer(text, oids, len);
		appendBinaryPQExpBuffer(text, after, after_len);
		appendPQExpBufferChar(text, '\0');
		oids += len + 1;
	}
	return n_oids;
}

static int
write_around(PQExpBuffer text, const char *oids, int n_oids,
			 const char *before, const char *after)
{
	return write_for_each(text, oids, n_oids, before, strlen(before), after,
						  strlen(after));
}

/*
 * Append DROP statements, as pg_backup_db.c:DropLOIfExists or pg_dump writes
 * them for one object.
 */
static int
write_drops(PQExpBuffer text, const char *oids, int n_oids, bool if_exists)
{
	if (if_exists)
		return write_around(text, oids, n_oids,
							"SELECT pg_catalog.lo_unlink(oid) FROM pg_catalog.pg_largeobject_metadata WHERE oid = '",
							"';");
	return write_around(text, oids, n_oids, "SELECT pg_catalog.lo_unlink('", "');");
}

/*
 * Append ALTER ... OWNER statements.  The script contains the statement of a
 * group with a placeholder instead of an OID, because stock/script.c had
 * pg_restore write it for an OID that cannot exist.
 */
static int
write_owners(PQExpBuffer text, const ScriptEntry *entry)
{
	static const char model[] = "ALTER LARGE OBJECT " SCRIPT_GROUP_OID;
	int			oid_at = strlen(model) - strlen(SCRIPT_GROUP_OID);
	int			n = 0;

	for (int i = 0; i < entry->n_after; i++)
	{
		const char *statement = entry->after[i];

		if (strncmp(statement, model, strlen(model)) != 0)
			pg_fatal("unexpected statement for a large object in the script written by pg_restore: %s",
					 printable(statement));
		n += write_for_each(text, entry->oids, entry->n_oids,
							statement, oid_at, statement + strlen(model),
							strlen(statement + strlen(model)));
	}
	return n;
}

/*
 * The end of the statement at p: its semicolon or a zero byte.  *oid is the
 * position of the OID in it, if there is one.  In GRANT and REVOKE only names
 * of roles can be quoted, so only quoted semicolons must be skipped.
 */
static const char *
scan_privilege(const char *p, const char **oid)
{
	bool		quoted = false;

	*oid = NULL;
	for (; *p && (quoted || *p != ';'); p++)
	{
		if (*p == '"')
			quoted = !quoted;
		if (!quoted && *oid == NULL &&
			strncmp(p, object_words, strlen(object_words)) == 0 &&
			strspn(p + strlen(object_words), DIGITS) > 0)
			*oid = p + strlen(object_words);
	}
	return p;
}

/* Append the statements for the privileges of one object, for each object. */
static int
write_privileges(PQExpBuffer text, const ScriptEntry *entry)
{
	const char *p = entry->entry->defn + strspn(entry->entry->defn, " \n");
	int			n = 0;

	while (*p)
	{
		const char *oid;
		const char *end = scan_privilege(p, &oid);

		if (*end == ';')
			end++;
		if (oid)
		{
			const char *rest = oid + strspn(oid, DIGITS);

			n += write_for_each(text, entry->oids, entry->n_oids, p, oid - p,
								rest, end - rest);
		}
		else
		{
			appendBinaryPQExpBuffer(text, p, end - p);
			appendPQExpBufferChar(text, '\0');
			n++;
		}
		p = end + strspn(end, " \n");
	}
	return n;
}

int
object_groups_write(const ScriptEntry *entry, const Options *options,
					PQExpBuffer text)
{
	bool		drops = options->clean && !options->create &&
		entry->entry->drop_stmt;
	const char *oids = entry->oids ? entry->oids : entry->entry->tag;
	int			n_oids = Max(1, entry->n_oids);
	int			n = 0;

	if (toc_entry_makes_large_objects(entry->entry))
	{
		if (drops)
			n += write_drops(text, oids, n_oids, options->if_exists);
		if (entry->oids)
		{
			n += write_around(text, oids, n_oids, CREATE_OBJECT, "');");
			n += write_owners(text, entry);
		}
	}
	else if (entry->oids)
		n = write_privileges(text, entry);
	(void) buffer_text(text);
	return n;
}

bool
object_groups_has(const ScriptEntry *entry)
{
	static const char *const added[] = {"ACL", "COMMENT", "SECURITY LABEL", NULL};

	return toc_entry_makes_large_objects(entry->entry) ||
		(toc_entry_is_one_of(entry->entry, added) &&
		 strncmp(entry->entry->tag, "LARGE OBJECT", 12) == 0);
}

bool
object_groups_creates(const char *statement)
{
	return strncmp(statement, CREATE_OBJECT, strlen(CREATE_OBJECT)) == 0;
}

/* ----------
 * The session.
 * ----------
 */

/* Messages show this much of a failed statement (pg_backup_db.c). */
#define SHOWN_BYTES 1024

/* ----------
 * Statements
 * ----------
 */

/*
 * PQexec() is used, not PQexecParams(), because an entry may consist of
 * several statements, which pg_dump only separates with semicolons.  Returns
 * NULL on success.  Does not return after a lost session.
 */
PGresult *
definition_session_run(DefinitionSession *session, const char *sql)
{
	PGresult   *res = PQexec(session->conn, sql);

	if (PQresultStatus(res) != PGRES_EMPTY_QUERY &&
		session_refused(session->conn, res, sql))
		return res;
	PQclear(res);
	return NULL;
}

void
definition_session_report_error(const PGresult *res, const char *sql,
								const TocEntry *entry)
{
	char	   *reason = pg_strdup(PQresultErrorMessage(res));
	int			shown = Min(strlen(sql), SHOWN_BYTES);

	(void) pg_strip_crlf(reason);
	toc_context_report(entry);
	message_set_sqlstate(PQresultErrorField(res, PG_DIAG_SQLSTATE));
	pg_log_error("could not execute query: %s\nCommand was: %.*s%s", reason,
				 shown, sql, sql[shown] ? "..." : "");
	free(reason);
}

/* ----------
 * Transactions
 * ----------
 */
void
definition_session_roll_back(DefinitionSession *session)
{
	target_command(session->conn, "ROLLBACK");
	memcpy(session->settings, session->settings_before, sizeof(session->settings));
	session->other_user = true;
}

/* ----------
 * Entries
 * ----------
 */

/*
 * Find the settings that differ from what the entry needs.  They are noted as
 * set at once, because the statements are sent next, and a ROLLBACK restores
 * the notes.
 */
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

	/*
	 * The statements of an ACL entry may contain SET SESSION AUTHORIZATION,
	 * for privileges from another grantor, so the session user is unknown
	 * afterwards.
	 */
	if (toc_entry_is_privilege(entry->entry))
	{
		session->settings[SCRIPT_SESSION_USER] = NULL;
		session->other_user = true;
	}
	return statements;
}

/*
 * Statements of ours, such as lines in the journal, must run as the role of
 * the run, not as an entry's owner.
 */
void
definition_session_reset_user(DefinitionSession *session)
{
	const char *role = session->options->role;

	if (!session->other_user)
		return;
	target_command(session->conn, "RESET SESSION AUTHORIZATION");
	if (role)
	{
		char	   *sql = psprintf("SET ROLE %s", fmtId(role));

		target_command(session->conn, sql);
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
 * Send the settings with which a session of pg_restore begins.  An older
 * server may not know all of them.  pg_restore, which has one session,
 * reports this as an error; here there are many sessions, and only the first
 * one reports it.
 */
static void
definition_session_set_up(DefinitionSession *session, const Script *script,
						  volatile bool *head_reported, volatile int *n_errors)
{
	bool		reported = *head_reported;

	session_begin_unwatched(session->conn, SESSION_BEGIN_SETTINGS);
	target_command(session->conn, ALWAYS_SECURE_SEARCH_PATH_SQL);
	/* The role may have another default. */
	target_command(session->conn, SESSION_SET("default_transaction_isolation",
											  "read committed"));
	for (int i = 0; i < script->n_head; i++)
	{
		char	   *sql = psprintf(SESSION_SAVEPOINT "; %s", script->head[i]);
		PGresult   *res = definition_session_run(session, sql);

		free(sql);
		if (res == NULL)
			continue;
		if (!reported)
		{
			definition_session_report_error(res, script->head[i], NULL);
			if (n_errors)
				(void) __sync_fetch_and_add(n_errors, 1);
		}
		PQclear(res);
		if (!reported && session->options->exit_on_error)
			exit(1);
		target_command(session->conn, SESSION_ROLLBACK_TO);
	}
	target_command(session->conn, "COMMIT");
	*head_reported = true;
}

volatile bool *
definition_session_head_reported(void)
{
	static bool *reported = NULL;

	if (reported == NULL)
		reported = shared_memory_new(1, sizeof(bool));
	return reported;
}

/* A PQnoticeReceiver that does the same as pg_restore's notice processor. */
static void
report_notice(void *arg, const PGresult *res)
{
	pg_log_info("%s", PQresultErrorMessage(res));
}

DefinitionSession *
definition_session_open(const RestoreStages *stages,
						const PeerAddress *address, const Script *script,
						volatile bool *head_reported)
{
	const Target *target = stages->target;
	DefinitionSession *session = pg_malloc0(sizeof(DefinitionSession));
	static bool left = false;

	session->options = stages->setup.options;
	initPQExpBuffer(&session->texts);

	/*
	 * Close the inherited socket of the leader's connection, because two
	 * processes must not use it.  Do this only once: a worker may open
	 * another session later, and then its socket may have the same
	 * descriptor.
	 */
	if (!left)
		close(PQsocket(target->conn));
	left = true;
	session->conn = connection_open_peer(address, "pg_pardump");
	interrupt_set_connection(session->conn);
	PQsetNoticeReceiver(session->conn, report_notice, NULL);
	session->incarnation = target_history_expect(session->conn,
												 target->history).incarnation;
	definition_session_set_up(session, script, head_reported, stages->setup.n_errors);
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
