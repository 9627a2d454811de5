/*
 * snapshot_age.c
 *		Warns while the snapshot of a run grows old.
 */
#include "base/fe_compat.h"

#include "base/clock.h"
#include "status/snapshot_age.h"

/* How often to look. */
#define LOOK_MS 10000

const char *
snapshot_age_query(SnapshotAge *age)
{
	int64		now = clock_monotonic_ms();

	if (!age->may_ask ||
		(age->looked_at != 0 && now < age->looked_at + LOOK_MS))
		return NULL;
	age->looked_at = now;
	return "SELECT c.next_xid, pg_catalog.txid_snapshot_xmin(pg_catalog.txid_current_snapshot()),"
		" pg_catalog.current_setting('autovacuum_freeze_max_age')"
		" FROM pg_catalog.pg_control_checkpoint() c";
}

void
snapshot_age_warn(SnapshotAge *age, const PGresult *res)
{
	unsigned int epoch;
	unsigned int xid;
	int64		xids;

	if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) != 1 ||
		sscanf(PQgetvalue(res, 0, 0), "%u:%u", &epoch, &xid) != 2)
		return;
	xids = (int64) (((uint64) epoch << 32) + xid -
					strtoull(PQgetvalue(res, 0, 1), NULL, 10));
	if (xids <= Max(atoll(PQgetvalue(res, 0, 2)), age->warned * 2))
		return;
	age->warned = xids;
	pg_log_warning("the snapshot of this run is " INT64_FORMAT " transactions old",
				   xids);
	pg_log_warning_detail("autovacuum_freeze_max_age is %s.  Vacuum can neither freeze nor remove what is younger than the snapshot, in no table, until the run ends.",
						  PQgetvalue(res, 0, 2));
}
