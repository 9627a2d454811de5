/*-------------------------------------------------------------------------
 *
 * bulk_space.c
 *	  Keeps unused pages of bulk insertions for the next statement.
 *
 * Since 16 a bulk insertion adds many pages at a time to a table, and those
 * that its statement has not used are forgotten (hio.c: RelationAddBlocks),
 * empty until VACUUM finds them.  Where every MiB is a statement of its own a
 * table would grow by half.
 *
 * One table is remembered, since such statements follow each other.  Nothing
 * depends on the pages being still there, or empty: the server looks, and
 * where it would fail, at pages behind the table's end, we do.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "base/server_compat.h"
#include "load/bulk_space.h"

static struct
{
	Oid			relid;			/* InvalidOid: nothing is kept */
	BulkSpace	space;
}			kept;

static void
forget(void)
{
	kept.relid = InvalidOid;
}

static void
forget_at_end(XactEvent event, void *arg)
{
	forget();
}

static void
forget_at_rollback(SubXactEvent event, SubTransactionId my_subid,
				   SubTransactionId parent_subid, void *arg)
{
	if (event == SUBXACT_EVENT_ABORT_SUB)
		forget();
}

static void
register_callbacks(void)
{
	static bool registered = false;

	if (registered)
		return;
	RegisterXactCallback(forget_at_end, NULL);
	RegisterSubXactCallback(forget_at_rollback, NULL);
	registered = true;
}

void
bulk_space_take(Relation rel, BulkInsertState bulk)
{
	/* a table that was truncated meanwhile is shorter */
	if (kept.relid == RelationGetRelid(rel) &&
		(!BlockNumberIsValid(kept.space.last_free) ||
		 kept.space.last_free < RelationGetNumberOfBlocks(rel)))
		set_bulk_space(bulk, &kept.space);
	forget();
}

void
bulk_space_keep(Relation rel, BulkInsertState bulk)
{
	register_callbacks();
	get_bulk_space(bulk, &kept.space);
	kept.relid = RelationGetRelid(rel);
}
