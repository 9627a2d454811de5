/*
 * cluster_map.h
 *		map.json, the list of the databases in a dump of a cluster, and the
 *		directory that contains it.
 *
 * The layout is pg_pardump's own: globals.sql, as pg_dumpall writes it, and
 * an archive for each database, databases/OID.  The map contains the names of
 * the databases, which may not be valid names of files.  map.json gets its
 * name last: a directory is the dump of a cluster if and only if it contains
 * map.json.
 */
#ifndef CLUSTER_MAP_H
#define CLUSTER_MAP_H

#include "archive/archive_name.h"
#include "archive/archive_open.h"
#include "cluster/cluster_snapshot.h"

#define CLUSTER_GLOBALS_NAME "globals.sql"
#define CLUSTER_DATABASES_NAME "databases"

typedef struct ClusterMap
{
	ClusterList list;
	char	   *identity;		/* the same for the same map */
	char	   *server_version;
	char	   *globals_checksum;	/* SHA256, in hexadecimal */
	SnapshotRecord *snapshot;	/* of all databases; NULL without
								 * --cluster-snapshot */
} ClusterMap;

/* The directory of a database's archive, in that of the cluster; owned. */
extern char *cluster_map_archive(const char *directory,
								 const ClusterDatabase *database);

/*
 * The command of --pipe for the files of a database's archive, or, with NULL,
 * for the map and the globals: both take their place for %d.  Owned.
 */
extern char *cluster_map_pipe(const char *pattern,
							  const ClusterDatabase *database);

/* The map as text; owned. */
extern char *cluster_map_text(const ClusterMap *map);

/*
 * Parse the map from a text of len bytes, followed by a zero byte.  The text
 * may be damaged or forged: returns NULL, and sets *problem, if
 * cluster_map_text() could not have made it, or if the names of databases are
 * impossible or repeated.
 */
extern ClusterMap *cluster_map_parse(const char *text, size_t len,
									 const char **problem);

/* ----------
 * Writing the files of a dump.
 * ----------
 */

/* The files of a dump in progress. */
typedef struct ClusterOutput ClusterOutput;

/*
 * Create the directory of the dump; or, with --pipe, prepare the commands
 * that store map and globals.  Exits with a message if the directory cannot
 * be used, or another run writes to it.  If the program fails before
 * cluster_output_publish(), the files are removed, except complete archives.
 */
extern ClusterOutput *cluster_output_create(const Options *options);

/* The directory of a database's archive, NULL with --pipe; owned. */
extern char *cluster_output_archive(const ClusterOutput *output,
									const ClusterDatabase *database);

/*
 * The run of a database has failed: remove its archive, unless the archive is
 * complete.  Returns true if it is, and stays.
 */
extern bool cluster_output_clean_up(const ClusterOutput *output,
									const ClusterDatabase *database);

/*
 * Write globals.sql and map.json, and give them their names.  Sets the
 * checksum in the map, which says which databases failed; the archives of the
 * others are complete.
 */
extern void cluster_output_publish(ClusterOutput *output, ClusterMap *map,
								   const char *globals);

/* ----------
 * Reading the files of a dump.
 * ----------
 */

/* Where the files of a cluster's dump are. */
typedef struct ClusterPlace
{
	const char *directory;		/* NULL with commands */
	Archive    *commands;		/* that return map and globals; or NULL */
	const Options *options;		/* of these, such as --pipe */
} ClusterPlace;

/*
 * With --pipe, commands return the files; else they are in this directory.
 * Both arguments are borrowed; options may be NULL.
 */
extern ClusterPlace cluster_map_place(const char *directory,
									  const Options *options);

/*
 * Read the map; exits with a message if there is none.  Commands that do not
 * return a map or the globals are run again, up to --retries times.
 */
extern ClusterMap *cluster_map_read(const ClusterPlace *place);

/*
 * Remove databases that could not be dumped from the list, with a warning for
 * each: the dump has reported them already.  Returns their number; their
 * names are added to the list.
 */
extern int	cluster_map_leave_out_failed(ClusterMap *map, PQExpBuffer names);

/* Move these databases to the beginning of the list, for cluster_run(). */
extern void cluster_map_put_failed_first(ClusterMap *map);

/*
 * The contents of globals.sql; owned.  Exits with a message if they do not
 * match the map's checksum.
 */
extern char *cluster_map_read_globals(const ClusterPlace *place,
									  const ClusterMap *map);

/*
 * Set a text in the list that identifies the archive of each database: it is
 * the same for the same archive in any directory, or for the same commands.
 */
extern void cluster_map_identify(const ClusterPlace *place, ClusterList *list);

#endif							/* CLUSTER_MAP_H */
