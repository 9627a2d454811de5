/*
 * subscription_check.h
 *		Compares what publications publish with what is copied.
 */
#ifndef SUBSCRIPTION_CHECK_H
#define SUBSCRIPTION_CHECK_H

#include "plan/dump_table.h"

/*
 * Compare what is published with what is copied.  Exits with a message if
 * changes of a table were to come whose rows do not; warns of tables whose
 * changes will not come, or only in part, and of what else is copied, which
 * no publication has.
 */
extern void subscription_check(PGconn *conn, const Options *options,
							   const Toc *toc, const DumpTables *tables);

#endif							/* SUBSCRIPTION_CHECK_H */
