/*
 * definition_session.h
 *		A session that is in the state that pg_restore's would be in.
 *
 * Which settings it has is known, so that a definition needs no more
 * statements than pg_restore sends; after a ROLLBACK they are what they were.
 */
#ifndef DEFINITION_SESSION_H
#define DEFINITION_SESSION_H

#include "load/restore_stage.h"
#include "stock/script.h"

/* ----------
 * Large objects, of which many are made by one entry.
 *
 * Since 17 an entry, BLOB METADATA, has the OIDs of up to 1000 large objects
 * of the same owner and privileges in the place of a definition, and another
 * one, an ACL, the privileges of the first of them.  Each is taken apart, so
 * that a transaction has few locks; and what pg_restore would send for its
 * objects is written here (pg_backup_db.c: IssueCommandPerBlob,
 * IssueACLPerBlob), but for what they have wrong: a statement that names no
 * object is sent once, as it is.
 * ----------
 */

/* Large objects of a part at most. */
#define OBJECT_GROUPS_PART 100

/*
 * Put parts in the place of groups, and of their privileges.  toc is the
 * archive's, with all of its entries: what is restored may be the privileges
 * alone.  Exits with a message if the archive is damaged.
 */
extern void object_groups_divide(Script *script, const Toc *toc);

/* A definition's owner could not be made the session's user: what to do. */
#define DEFINITION_USER_HINT \
	"Create the role, connect as a superuser, or use --no-owner."

/*
 * Append what an entry sends for large objects, other than its definition and
 * what the script has after that: of a part all of it, and with --clean what
 * drops them first.  Each statement ends with a zero byte; returns how many.
 */
extern int	object_groups_write(const ScriptEntry *entry,
								const Options *options, PQExpBuffer text);

/* Does this statement create a large object? */
extern bool object_groups_creates(const char *statement);

/* Does it concern large objects alone? */
extern bool object_groups_has(const ScriptEntry *entry);

typedef struct DefinitionSession
{
	PGconn	   *conn;
	char	   *incarnation;	/* of the server that it is connected to */
	const Options *options;		/* the user's */
	const char *settings[SCRIPT_N_SETTINGS];	/* as they are, and as they
												 * were when the transaction
												 * began; NULL = unknown */
	const char *settings_before[SCRIPT_N_SETTINGS];
	bool		other_user;		/* may be another one's than it began as */
	const char **statements;	/* of the entry that was asked for last */
	PQExpBufferData texts;		/* of those of them that no script has */
} DefinitionSession;

/*
 * Connect to the target of the stages at this address, in place of the
 * leader's session, which is closed in this process; and send the script's
 * head.  Errors of that are told and counted unless they have been
 * (*head_reported, shared).
 */
extern DefinitionSession *definition_session_open(const RestoreStages *stages,
												  const PeerAddress *address,
												  const Script *script,
												  volatile bool *head_reported);

/*
 * In the leader, before the workers are forked: memory for *head_reported,
 * the same in all phases of a run.
 */
extern volatile bool *definition_session_head_reported(void);

/* Close the connection, and free it. */
extern void definition_session_close(DefinitionSession *session);

/* A transaction's end that is its settings', too. */
extern void definition_session_roll_back(DefinitionSession *session);

/*
 * One that may fail by its own fault: then the result, to be cleared, else
 * NULL.  Does not return if the session is lost.
 */
extern PGresult *definition_session_run(DefinitionSession *session,
										const char *sql);

/*
 * In pg_restore's words (pg_backup_db.c:ExecuteSqlCommand), which are about
 * this entry; NULL for a statement of the script's head.
 */
extern void definition_session_report_error(const PGresult *res,
											const char *sql,
											const TocEntry *entry);

/*
 * All that pg_restore sends for an entry, which now is to be sent, statement
 * by statement; NULL terminated, and the session's until it is asked again.
 */
extern const char *const *definition_session_statements(DefinitionSession *session,
														const ScriptEntry *entry);

/* Be again who the session began as: the log is that one's. */
extern void definition_session_reset_user(DefinitionSession *session);

#endif							/* DEFINITION_SESSION_H */
