/*-------------------------------------------------------------------------
 *
 * load_check.h
 *	  Checks whether a COPY can be done here exactly as the server does it.
 *
 * Only looks, and checks no privileges: that is left to the caller that does
 * the COPY.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_LOAD_CHECK_H
#define PARDUMP_LOAD_CHECK_H

#include "nodes/parsenodes.h"
#include "utils/relcache.h"
#include "utils/reltrigger.h"

/* ----------
 * Volatile functions that the input of a type may run.
 * ----------
 */

/*
 * May the input of the type, of one that it is made of (a domain's base, an
 * array's element, a column of a composite type, the subtype of a range or
 * multirange), or of their constraints, do more than look at the value?  So
 * says the volatility of these functions; that of built-in input functions is
 * not asked.
 */
extern bool load_type_is_volatile(Oid type_id);

/*
 * Is it COPY table [(columns)] FROM STDIN, with no options but FORMAT text
 * and FREEZE?  Names of tables are not looked up.
 */
extern bool load_check_statement(const Node *statement);

/*
 * Does such a statement ask for FREEZE?  A value that is not a boolean is an
 * error, as in COPY.
 */
extern bool load_check_freezes(const CopyStmt *statement);

/*
 * Why the server has to do such a COPY into this relation, which is open and
 * locked: half a sentence ("it has triggers"), not to be freed, or NULL if it
 * can be done here.  Columns that are not there, or twice in the list, are
 * an error, as in COPY.
 */
extern const char *load_check_relation(Relation rel, const CopyStmt *statement);

/*
 * The same of its kind, rules and triggers alone, and of its constraints and
 * generated columns, for rows that come by another way than COPY.
 */
extern const char *load_check_kind(Relation rel);
extern const char *load_check_constraints(Relation rel);

/*
 * Raise an error if any of the triggers fires on INSERT now.  None did when
 * the table was checked, but a function that runs between two rows may change
 * session_replication_role.  The triggers are those of when loading began, as
 * with the server's commands.
 */
extern void load_check_triggers_off(Relation rel, const TriggerDesc *triggers);

/*
 * Tell, at DEBUG1, who does a COPY, for those who wonder why it is not
 * faster: the server for such a reason, or we if that is NULL.
 */
extern void load_check_report(const char *relation, const char *reason);

#endif							/* PARDUMP_LOAD_CHECK_H */
