/*-------------------------------------------------------------------------
 *
 * load_check.h
 *	  Decides whether the extension can execute a COPY with exactly the
 *	  server's results.
 *
 * load_copy.c and raw_loader.c call these functions.  They change nothing,
 * and do not check privileges: the caller does that before it loads rows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_LOAD_CHECK_H
#define PARDUMP_LOAD_CHECK_H

#include "nodes/parsenodes.h"
#include "utils/relcache.h"
#include "utils/reltrigger.h"

/* ----------
 * Finds volatile functions that the input of a type may call.
 * ----------
 */

/*
 * May the input of the type call a volatile function?  This includes the
 * types of which it consists (a domain's base type, an array's element, the
 * columns of a composite type, the subtype of a range or multirange) and the
 * constraints of domains.  Built-in input functions do not count.
 */
extern bool load_type_is_volatile(Oid type_id);

/*
 * Is the statement COPY table [(columns)] FROM STDIN, without options other
 * than FORMAT text and FREEZE?  The table is not looked up.
 */
extern bool load_check_statement(const Node *statement);

/*
 * Does such a statement have the option FREEZE?  A value that is not a
 * boolean is an error, as in COPY.
 */
extern bool load_check_freezes(const CopyStmt *statement);

/*
 * Return why the server has to execute such a COPY to this relation, which
 * must be open and locked: half a sentence ("it has triggers"), which is not
 * freed.  Returns NULL if the extension can execute it.  Columns that do not
 * exist, or that the list contains twice, are an error, as in COPY.
 */
extern const char *load_check_relation(Relation rel, const CopyStmt *statement);

/*
 * The same, but only for the kind, rules and triggers of the relation, or for
 * its constraints and generated columns.  raw_loader.c needs these two, as
 * its rows do not come from a COPY.
 */
extern const char *load_check_kind(Relation rel);
extern const char *load_check_constraints(Relation rel);

/*
 * Raise an error if one of the triggers would fire on INSERT now.  None would
 * when the table was checked, but a function that is called between two rows
 * may change session_replication_role.  "triggers" are those that the table
 * had when the load began, which also the server's commands use.
 */
extern void load_check_triggers_off(Relation rel, const TriggerDesc *triggers);

/*
 * Report at DEBUG1 who executes a COPY: the server, for this reason, or the
 * extension if the reason is NULL.  A user who wonders why a COPY is not
 * faster can find the reason with this message.
 */
extern void load_check_report(const char *relation, const char *reason);

#endif							/* PARDUMP_LOAD_CHECK_H */
