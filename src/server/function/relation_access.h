/*-------------------------------------------------------------------------
 *
 * relation_access.h
 *	  Checks that the current user may plan or read a relation.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_RELATION_ACCESS_H
#define PARDUMP_RELATION_ACCESS_H

#include "utils/relcache.h"

/*
 * Open and lock (ACCESS SHARE) a relation to plan.  Raises an error unless it
 * is a table or materialized view that the current user has the SELECT
 * privilege on, and USAGE of its schema, and no row security applies: a plan
 * reveals the number of rows and their length.  The lock is to be kept up to
 * the end of the transaction, so that the block ranges stay what they are
 * while the caller reads them: VACUUM cannot truncate, nothing can rewrite
 * the table.
 */
extern Relation relation_open_for_planning(Oid relid);

/*
 * Open and lock (ACCESS SHARE) a relation to read some of its columns, for a
 * role that may read any of them.  relation_check_readable() must follow,
 * before a row is read.
 */
extern Relation relation_open_for_reading(Oid relid);

/*
 * Raise an error unless the current user may read these columns of all rows:
 * privileges on the schema, and the table or each column, and no row security
 * that applies.
 */
extern void relation_check_readable(Relation rel, const AttrNumber *attnums,
									int n_attnums);

/*
 * May the current user, who may read some of its columns, have fingerprints
 * of the relation?  They are of whole tuples, and who knows the key could try
 * what is in the other columns: so only who may SELECT from all of it.
 */
extern bool relation_may_fingerprint(Relation rel);

#endif							/* PARDUMP_RELATION_ACCESS_H */
