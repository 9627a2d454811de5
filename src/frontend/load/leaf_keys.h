/*
 * leaf_keys.h
 *		Foreign keys of partitioned tables, partition by partition.
 *
 * ALTER TABLE ... ADD FOREIGN KEY of a partitioned table checks the rows of
 * all its partitions in one session, one after the other.  But a partition
 * that has the same key already, validated, is not checked: its key becomes
 * part of the table's (tablecmds.c:tryAttachPartitionForeignKey).  So each
 * large partition gets the key first, NOT VALID, and then has it validated,
 * side by side.  Names are those that the table's own statement gives its
 * partitions' keys.
 *
 * From 18 on the table itself can have the key NOT VALID, and its partitions
 * by it.  It is not faster, but then the server has made all keys of the tree
 * as it does without this.  A key that was a partition's own has connoinherit
 * true for ever, and triggers that depend on the table's, which are of no use
 * (and ATTACH PARTITION makes such ones, too).
 *
 * Afterwards the database is as without this: if a key cannot be made, what
 * there is of it is dropped, and the table's own statement tells why.
 */
#ifndef LEAF_KEYS_H
#define LEAF_KEYS_H

#include "load/restore_journal.h"
#include "load/restore_schedule.h"

/* A partition, and what it has to do with its table's key. */
typedef struct LeafKey
{
	char	   *leaf;			/* qualified and quoted */
	char	   *name;			/* of its key; quoted */
	int			key;			/* in LeafKeys.keys */
	uint64		bytes;			/* of the partition */
	bool		made;			/* there may be one that was not asked for */
} LeafKey;

typedef struct TableKey
{
	char	   *table;			/* as the archive has it: qualified, quoted */
	char	   *name;			/* quoted */
	char	   *definition;		/* FOREIGN KEY ... */
	char	   *columns;		/* what that begins with: the columns of both
								 * tables */
	int			entry;			/* in the archive's table of contents */
	bool		of_table;		/* the table has it, NOT VALID, and its
								 * partitions by it */
	bool		failed;			/* is left to the table's own statement */
} TableKey;

typedef struct LeafKeys
{
	TableKey   *keys;
	int			n_keys;
	LeafKey    *leaves;			/* largest first */
	int			n_leaves;
} LeafKeys;

/*
 * What there is to be made by the schedule: the target has all tables, rows,
 * and indexes of tables that are not partitioned.  Partitions of less than
 * 8 MB are left out, and tables that have but one larger, keys that reference
 * a partitioned table, and those of which a name might come out different.
 * Makes the keys of tables, where these can be first.  If the log is of a run
 * before, what it has left of partitions' keys is dropped, and gone on with
 * of tables'.
 */
extern LeafKeys *leaf_keys_find(PGconn *conn, const RestoreSchedule *schedule,
								const RestoreJournal *journal);

/*
 * Partitions' keys are validated: validate those that tables have, too, and
 * take these out of the schedule, with their lines in the log.
 */
extern void leaf_keys_finish(PGconn *conn, LeafKeys *keys,
							 RestoreSchedule *schedule, const RestoreJournal *journal);

/*
 * Drop what there is of failed keys, or, when the tables' own statements have
 * been run, keys of partitions that are not part of their table's, too.
 */
extern void leaf_keys_drop(PGconn *conn, LeafKeys *keys, bool all);

/* ----------
 * Makes foreign keys of partitions, side by side.
 * ----------
 */

/*
 * Make them all, in up to n_sessions sessions.  Where one fails, for any
 * reason, its table's key is marked, and not continued.
 */
extern void leaf_key_sessions_run(const Target *target, LeafKeys *keys,
								  int n_sessions);

#endif							/* LEAF_KEYS_H */
