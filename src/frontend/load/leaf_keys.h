/*
 * leaf_keys.h
 *		Creates foreign keys of partitioned tables partition by partition,
 *		concurrently.
 *
 * ALTER TABLE ... ADD FOREIGN KEY of a partitioned table checks the rows of
 * all its partitions in one session, one after the other.  But it does not
 * check a partition that already has the same key, validated: this key
 * becomes part of the table's key (tablecmds.c:tryAttachPartitionForeignKey).
 * So each large partition first gets the key NOT VALID, and then several
 * sessions validate these keys.  The names are those that the table's own
 * statement would give to the partitions' keys.
 *
 * From 18 on the table itself can get the key NOT VALID, which also creates
 * the keys of its partitions.  This is not faster, but then the server has
 * created all keys of the tree itself.  Before 18, a key that was first
 * created on a partition keeps two differences: its connoinherit is true, and
 * it has additional triggers that depend on the table's key, and have no
 * effect.  (ATTACH PARTITION leaves such triggers, too.)
 *
 * Otherwise the database is the same as without this file: if a key cannot be
 * created, its parts are dropped, and the table's own statement reports the
 * error.
 */
#ifndef LEAF_KEYS_H
#define LEAF_KEYS_H

#include "load/restore_journal.h"
#include "load/restore_schedule.h"

/* A partition that gets the key of its table. */
typedef struct LeafKey
{
	char	   *leaf;			/* qualified and quoted */
	char	   *name;			/* name of its key, quoted */
	int			key;			/* index in LeafKeys.keys */
	uint64		bytes;			/* size of the partition */
	bool		made;			/* it may exist, and is not in the archive */
} LeafKey;

typedef struct TableKey
{
	char	   *table;			/* as in the archive: qualified, quoted */
	char	   *name;			/* quoted */
	char	   *definition;		/* FOREIGN KEY ... */
	char	   *columns;		/* the beginning of the definition, with the
								 * columns of both tables */
	int			entry;			/* number in the table of contents */
	bool		of_table;		/* the table has the key, NOT VALID, and so
								 * have its partitions */
	bool		failed;			/* left to the table's own statement */
} TableKey;

typedef struct LeafKeys
{
	TableKey   *keys;
	int			n_keys;
	LeafKey    *leaves;			/* largest first */
	int			n_leaves;
} LeafKeys;

/*
 * Find the keys that can be created in this way.  The target must have all
 * tables, rows, and indexes of tables that are not partitioned.  Left out are
 * partitions below 8 MB, tables with only one larger partition, keys that
 * reference a partitioned table, and keys whose names might differ.  From 18
 * on, this also creates the tables' keys.  With --resume, partitions' keys
 * that an earlier run has left are dropped, and its tables' keys are used.
 */
extern LeafKeys *leaf_keys_find(PGconn *conn, const RestoreSchedule *schedule,
								const RestoreJournal *journal);

/*
 * After the partitions' keys were validated: validate those of tables, too,
 * which are fast then, and take them out of the schedule, with their lines in
 * the journal.
 */
extern void leaf_keys_finish(PGconn *conn, LeafKeys *keys,
							 RestoreSchedule *schedule, const RestoreJournal *journal);

/*
 * Drop the parts of failed keys.  If all is true, which is right after the
 * tables' own statements have run, also drop keys of partitions that did not
 * become part of their table's key.
 */
extern void leaf_keys_drop(PGconn *conn, LeafKeys *keys, bool all);

/* ----------
 * The sessions that create the keys of partitions concurrently.
 * ----------
 */

/*
 * Create all keys of partitions, in up to n_sessions sessions.  If one fails,
 * for any reason, its table's key is marked as failed, and not continued.
 */
extern void leaf_key_sessions_run(const Target *target, LeafKeys *keys,
								  int n_sessions);

#endif							/* LEAF_KEYS_H */
