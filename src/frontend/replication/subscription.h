/*
 * subscription.h
 *		A subscription on the target of a copy that continues where the copy
 *		ends (--create-subscription).
 *
 * The slot was created with the copy's snapshot (logical_slot.h).  A
 * subscription on the target that uses the slot, and copies no data itself,
 * applies all changes that were committed since, so that an application can
 * switch to the target within seconds.
 */
#ifndef SUBSCRIPTION_H
#define SUBSCRIPTION_H

#include "plan/dump_table.h"
#include "replication/logical_slot.h"

/* ----------
 * Comparing the published tables with the copied tables.
 * ----------
 */

/*
 * Compare the published tables with the copied tables.  Exits with a message
 * if a table is published but not copied, since its changes would have no
 * rows to apply to.  Warns about tables whose changes will not be replicated,
 * or only in part, and about other copied objects that publications cannot
 * contain.
 */
extern void subscription_check(PGconn *conn, const Options *options,
							   const Toc *toc, const DumpTables *tables);

typedef struct Subscription Subscription;

/*
 * Test the subscription before anything is copied: create it on the target,
 * where it connects to the source, and roll back.  Exits with a message if
 * that fails.  The address is that of the target's database.  It must outlive
 * the result, and so must the slot.
 */
extern Subscription *subscription_try(PGconn *source_conn,
									  const PeerAddress *target_address,
									  const LogicalSlot *slot,
									  const Options *options);

/*
 * Create the subscription after everything is copied, wait until it streams,
 * and print it with its slot.  From now on, a run that fails drops the
 * subscription when it ends, and reports if that fails.  If subscription is
 * NULL, only the slot is checked and printed.  If slot is NULL, does nothing.
 */
extern void subscription_go_on(Subscription *subscription,
							   const LogicalSlot *slot);

#endif							/* SUBSCRIPTION_H */
