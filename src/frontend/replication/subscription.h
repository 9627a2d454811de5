/*
 * subscription.h
 *		Leaves a copy with a subscription that continues where the copy ends.
 *
 * The slot was made with the copy's snapshot (logical_slot.h).  A
 * subscription on the target that uses it, and copies no data itself, brings
 * every change that was committed since, so that an application can move to
 * the target within seconds.
 */
#ifndef SUBSCRIPTION_H
#define SUBSCRIPTION_H

#include "plan/dump_table.h"
#include "replication/logical_slot.h"

/* ----------
 * Compares what publications publish with what is copied.
 * ----------
 */

/*
 * Compare what is published with what is copied.  Exits with a message if
 * changes of a table were to come whose rows do not; warns of tables whose
 * changes will not come, or only in part, and of what else is copied, which
 * no publication has.
 */
extern void subscription_check(PGconn *conn, const Options *options,
							   const Toc *toc, const DumpTables *tables);

typedef struct Subscription Subscription;

/*
 * Try the subscription before anything is copied: make it on the target,
 * where it connects to the source, and roll back.  Exits with a message if
 * that fails.  The address is of the database on the target, and must outlive
 * the result, as must the slot.
 */
extern Subscription *subscription_try(PGconn *source_conn,
									  const PeerAddress *target_address,
									  const LogicalSlot *slot,
									  const Options *options);

/*
 * Everything is copied: make the subscription, let it stream, and tell the
 * user of it and of its slot.  From now on a run that fails drops it when it
 * ends, and says so if it cannot.  Without one (NULL) it is only the slot
 * that the user learns about, and nothing without that (NULL).
 */
extern void subscription_go_on(Subscription *subscription,
							   const LogicalSlot *slot);

#endif							/* SUBSCRIPTION_H */
