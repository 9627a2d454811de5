/*
 * cluster_map.h
 *		map.json, the list of the databases in a dump of a cluster.
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
#include "cluster/cluster_snapshot.h"

#define CLUSTER_GLOBALS_NAME "globals.sql"
#define CLUSTER_DATABASES_NAME "databases"

typedef struct ClusterMap
{
	ClusterList list;
	char	   *server_version;
	char	   *globals_checksum;	/* SHA256, in hexadecimal */
	SnapshotRecord *snapshot;	/* of all databases; NULL without
								 * --cluster-snapshot */
} ClusterMap;

/* The directory of a database's archive, in that of the cluster; owned. */
extern char *cluster_map_archive(const char *directory,
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

/* Read the map in this directory; exits with a message if there is none. */
extern ClusterMap *cluster_map_read(const char *directory);

/*
 * Remove databases that could not be dumped from the list, with a warning for
 * each: the dump has reported them already.  Returns their number; their
 * names are added to the list.
 */
extern int	cluster_map_leave_out_failed(ClusterMap *map, PQExpBuffer names);

/*
 * The contents of globals.sql; owned.  Exits with a message if they do not
 * match the map's checksum.
 */
extern char *cluster_map_read_globals(const char *directory,
									  const ClusterMap *map);

/*
 * Texts that identify a dump, wherever its directory is: of the map, and of
 * the archive of each database.  The latter are set in the list.
 */
extern char *cluster_map_identity(const char *directory);
extern void cluster_map_identify(const char *directory, ClusterList *list);

#endif							/* CLUSTER_MAP_H */
