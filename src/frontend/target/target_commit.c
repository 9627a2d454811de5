/*
 * target_commit.c
 *		Commits jobs, and finds out what became of a COMMIT without an answer.
 */
#include "base/fe_compat.h"

#include "target/target_commit.h"
#include "target/target_history.h"

/*
 * How long a transaction may be in progress whose session's client is gone:
 * longer than the server takes to notice (session_settings.c).  And how often
 * to look.
 */
#define IN_PROGRESS_MS 120000
#define IN_PROGRESS_LOOK_MS 100

void
target_commit(PGconn *conn, TargetCommit *commit)
{
	PGresult   *res = target_query(conn, "SELECT pg_catalog.txid_current()",
								   0, NULL);

	commit->xid = strtoull(PQgetvalue(res, 0, 0), NULL, 10);
	PQclear(res);
	commit->state = TARGET_COMMIT_SENT;
	PQclear(target_query(conn, "COMMIT", 0, NULL));
	commit->state = TARGET_COMMIT_DONE;
}

/*
 * The transaction's own server knows, unless it was restarted: a transaction
 * of which nothing had reached the disk is forgotten then, and its ID may be
 * another's.
 */
static bool
was_committed(PGconn *conn, const Target *target, uint64 xid)
{
	char		text[32];
	const char *params[] = {text, target->incarnation};
	char		status[32];

	snprintf(text, sizeof(text), UINT64_FORMAT, xid);
	for (int ms = 0; ms < IN_PROGRESS_MS; ms += IN_PROGRESS_LOOK_MS)
	{
		PGresult   *res = target_query(conn,
									   "SELECT pg_catalog.txid_status($1::pg_catalog.int8),"
									   TARGET_INCARNATION_SQL " OPERATOR(pg_catalog.=) $2",
									   2, params);
		bool		same_server = PQgetvalue(res, 0, 1)[0] == 't';

		strlcpy(status, PQgetvalue(res, 0, 0), sizeof(status));
		PQclear(res);
		if (!same_server)
			pg_fatal("the target was restarted during a COMMIT, and does not know whether it was done");
		if (strcmp(status, "in progress") != 0)
			break;
		/* its session has not seen yet that we are gone */
		pg_usleep(IN_PROGRESS_LOOK_MS * 1000L);
	}
	if (strcmp(status, "committed") != 0 && strcmp(status, "aborted") != 0)
		pg_fatal("the target does not know whether transaction " UINT64_FORMAT " was committed: \"%s\"",
				 xid, status);
	return status[0] == 'c';
}

bool
target_commit_is_done(PGconn *conn, const Target *target,
					  TargetCommit *commit)
{
	if (commit->state == TARGET_COMMIT_SENT)
		commit->state = was_committed(conn, target, commit->xid) ?
			TARGET_COMMIT_DONE : TARGET_COMMIT_PENDING;
	return commit->state == TARGET_COMMIT_DONE;
}
