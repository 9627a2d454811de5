/*
 * definition_session.h
 *		A session with the settings that pg_restore's session would have.
 *
 * It remembers its settings, so that a definition needs no more statements
 * than with pg_restore.  After a ROLLBACK it remembers the settings from
 * before.
 */
#ifndef DEFINITION_SESSION_H
#define DEFINITION_SESSION_H

#include "load/restore_stage.h"
#include "stock/script.h"

/* ----------
 * Groups of large objects.
 *
 * From 17 on, an entry BLOB METADATA contains the OIDs of up to 1000 large
 * objects with the same owner and privileges instead of a definition, and
 * another entry, an ACL, contains the privileges of the first one.  Each is
 * divided into parts, so that a transaction needs few locks.  The statements
 * that pg_restore would send for the objects are written here
 * (pg_backup_db.c: IssueCommandPerBlob, IssueACLPerBlob).  Unlike there, a
 * statement that does not name an object is sent once, unchanged.
 * ----------
 */

/* The largest number of large objects in a part. */
#define OBJECT_GROUPS_PART 100

/*
 * Replace groups, and their privileges, by their parts.  toc is the
 * archive's, with all of its entries, because only the privileges may be
 * restored.  Exits with a message if the archive is damaged.
 */
extern void object_groups_divide(Script *script, const Toc *toc);

/* A definition's owner could not be made the session's user: what to do. */
#define DEFINITION_USER_HINT \
	"Create the role, connect as a superuser, or use --no-owner."

/*
 * Append the statements of an entry for large objects, except its definition
 * and the statements that the script has after it.  For a part these are all
 * statements and, with --clean, those that first drop the objects.  Each
 * statement ends with a zero byte; returns their number.
 */
extern int	object_groups_write(const ScriptEntry *entry,
								const Options *options, PQExpBuffer text);

/* Does this statement create a large object? */
extern bool object_groups_creates(const char *statement);

/* Does the entry only concern large objects? */
extern bool object_groups_has(const ScriptEntry *entry);

typedef struct DefinitionSession
{
	PGconn	   *conn;
	char	   *incarnation;	/* of the server to which it is connected */
	const Options *options;		/* the user's options */
	const char *settings[SCRIPT_N_SETTINGS];	/* the current ones, and those
												 * before the transaction;
												 * NULL = unknown */
	const char *settings_before[SCRIPT_N_SETTINGS];
	bool		other_user;		/* the user may have changed since the
								 * beginning */
	const char **statements;	/* of the last entry */
	PQExpBufferData texts;		/* texts of statements that are not in the
								 * script */
} DefinitionSession;

/*
 * Connect to the target of the stages at this address, instead of using the
 * leader's session, which is closed in this process.  Send the script's head.
 * Errors of the head are reported and counted only once in a run
 * (*head_reported, in shared memory).
 */
extern DefinitionSession *definition_session_open(const RestoreStages *stages,
												  const PeerAddress *address,
												  const Script *script,
												  volatile bool *head_reported);

/*
 * In the leader, before the workers are forked: the shared memory for
 * *head_reported, which is the same in all phases of a run.
 */
extern volatile bool *definition_session_head_reported(void);

/* Close the connection, and free it. */
extern void definition_session_close(DefinitionSession *session);

/* End a transaction, and remember the settings that are valid then. */
extern void definition_session_roll_back(DefinitionSession *session);

/*
 * Run a statement that may fail.  Returns NULL on success, otherwise the
 * result, which the caller clears.  Does not return if the session is lost.
 */
extern PGresult *definition_session_run(DefinitionSession *session,
										const char *sql);

/*
 * Report an error about this entry like pg_restore (pg_backup_db.c:
 * ExecuteSqlCommand); entry is NULL for a statement of the script's head.
 */
extern void definition_session_report_error(const PGresult *res,
											const char *sql,
											const TocEntry *entry);

/*
 * All statements that pg_restore would send for an entry in the current state
 * of the session, which the caller must send now.  The array ends with NULL,
 * and belongs to the session until the next call.
 */
extern const char *const *definition_session_statements(DefinitionSession *session,
														const ScriptEntry *entry);

/* Return to the user with which the session began, who owns the journal. */
extern void definition_session_reset_user(DefinitionSession *session);

#endif							/* DEFINITION_SESSION_H */
