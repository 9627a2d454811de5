/*
 * snapshot_age.h
 *		Warns while the snapshot of a run grows old.
 */
#ifndef SNAPSHOT_AGE_H
#define SNAPSHOT_AGE_H

#include "base/fe_compat.h"

#include "libpq-fe.h"

/* All zero at first, but for: */
typedef struct SnapshotAge
{
	bool		may_ask;		/* may execute pg_control_checkpoint() */
	int64		looked_at;		/* 0 = never */
	int64		warned;			/* the age of the last warning, 0 = none */
} SnapshotAge;

/*
 * A query for how many transaction IDs were assigned since the snapshot of
 * the transaction was taken, as of the last checkpoint (in a transaction
 * age() never changes), and for autovacuum_freeze_max_age.  NULL if it was
 * asked a moment ago, or may not be.
 */
extern const char *snapshot_age_query(SnapshotAge *age);

/*
 * Warn by the query's result that this is more than the setting, and again
 * each time it has doubled.  A result that is an error is passed over.
 */
extern void snapshot_age_warn(SnapshotAge *age, const PGresult *res);

#endif							/* SNAPSHOT_AGE_H */
