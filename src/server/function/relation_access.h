/*-------------------------------------------------------------------------
 *
 * relation_access.h
 *	  Checks whether the current user may plan or read a relation.
 *
 * plan_function.c and read_function.c open relations with these functions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_RELATION_ACCESS_H
#define PARDUMP_RELATION_ACCESS_H

#include "utils/relcache.h"

/*
 * Open and lock (ACCESS SHARE) a relation in order to plan it.  Raises an
 * error unless it is a table or materialized view, the current user has the
 * SELECT privilege on it and USAGE on its schema, and row security does not
 * apply: a plan reveals the number of rows and their length.
 *
 * The lock should be kept up to the end of the transaction, so that the block
 * ranges contain the same rows until they are read: with it, VACUUM cannot
 * truncate the table, and no command can rewrite it.
 */
extern Relation relation_open_for_planning(Oid relid);

/*
 * Open and lock (ACCESS SHARE) a relation in order to read columns.  Only
 * checks that the current user may read at least one of its columns.  The
 * caller must call relation_check_readable() before it reads a row.
 */
extern Relation relation_open_for_reading(Oid relid);

/*
 * Raise an error unless the current user may read these columns of all rows.
 * This takes privileges on the schema, and on the table or each column, and
 * row security must not apply.
 */
extern void relation_check_readable(Relation rel, const AttrNumber *attnums,
									int n_attnums);

/*
 * May the current user, who may read some columns of the relation, get its
 * fingerprints?  A fingerprint depends on whole tuples, and a user who knows
 * the key could guess and verify the values of other columns.  So the user
 * must have the SELECT privilege on the table.
 */
extern bool relation_may_fingerprint(Relation rel);

#endif							/* PARDUMP_RELATION_ACCESS_H */
