/*
 * target_commit.h
 *		Jobs that are done on the target exactly once.
 *
 * A job is one transaction there.  Whoever is lost before its COMMIT has done
 * nothing, and whoever was told of it has done all.  In between nobody but
 * the server knows, by the transaction's ID, which is noted before.
 */
#ifndef TARGET_COMMIT_H
#define TARGET_COMMIT_H

#include "base/fe_compat.h"

#include "target/target.h"

/*
 * How far a job's transaction is.  Lives in memory that all workers share;
 * only the one that has the job writes to it.
 */
typedef enum TargetCommitState
{
	TARGET_COMMIT_PENDING = 0,
	TARGET_COMMIT_SENT,			/* COMMIT was, or is about to be, sent */
	TARGET_COMMIT_DONE			/* and was answered */
} TargetCommitState;

typedef struct TargetCommit
{
	volatile TargetCommitState state;
	uint64		xid;			/* of the transaction */
} TargetCommit;

/* Commit the transaction on this connection, which is a job's. */
extern void target_commit(PGconn *conn, TargetCommit *commit);

/*
 * Is there nothing left to do of the job?  If a worker that had it before was
 * lost while it waited for the answer to COMMIT, the server is asked, for up
 * to two minutes while the transaction is in progress still.  Exits with a
 * message if it does not know.
 */
extern bool target_commit_is_done(PGconn *conn, const Target *target,
								  TargetCommit *commit);

#endif							/* TARGET_COMMIT_H */
