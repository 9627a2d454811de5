/*
 * cluster_list.h
 *		Lists the databases of a cluster, and finds out what must be known
 *		before their runs begin.
 *
 * It applies patterns that select databases, tables or columns, opens
 * sessions for the cluster as a whole, and checks the number of connections.
 */
#ifndef CLUSTER_LIST_H
#define CLUSTER_LIST_H

#include "session/connection.h"

/* What a restore must do with a database (cluster_notes.h). */
typedef enum ClusterTodo
{
	CLUSTER_TODO_NOTHING = 0,	/* it is restored already */
	CLUSTER_TODO_CREATE,
	CLUSTER_TODO_CREATE_AGAIN,	/* an earlier run left it empty */
	CLUSTER_TODO_BEGIN,			/* into an existing database */
	CLUSTER_TODO_RESUME,
	CLUSTER_TODO_REFUSED		/* an error was reported */
} ClusterTodo;

typedef struct ClusterDatabase
{
	char	   *name;			/* in any encoding */
	Oid			oid;			/* on the source */
	uint64		bytes;			/* pg_database_size(); 0 if the role may not
								 * read it */
	bool		is_template;	/* it is a template */
	bool		failed;			/* it is not complete */
	bool		run_failed;		/* its run failed; may be complete anyway */
	bool		damaged;		/* its verification has found a problem */
	bool		with_errors;	/* of a restore: failed only because of
								 * ignored errors */
	const char *identity;		/* of a restore: that of its archive */
	Oid			target;			/* of a restore: on the target; or 0 */
	ClusterTodo todo;			/* of a restore */
	bool		existed;		/* of a restore: when the first run began */
	bool	   *matches;		/* matching patterns: see cluster_list.c */
} ClusterDatabase;

typedef struct ClusterList
{
	ClusterDatabase *databases; /* the largest first */
	int			n;
	int			n_before;		/* of a restore: number of others that earlier
								 * runs have restored */
} ClusterList;

/*
 * The databases that pg_dumpall would dump.  Left out are template0,
 * databases that allow no connections, databases whose removal was
 * interrupted, and those that match --exclude-database.
 */
extern ClusterList cluster_list_read(PGconn *conn, const Options *options);

/*
 * Add a quoted name, or those of the databases whose run failed, to a list
 * for a message.  A restore only with ignored errors is left out.
 */
extern void cluster_list_add_name(PQExpBuffer names, const ClusterDatabase *database);
extern void cluster_list_add_failed(PQExpBuffer names, const ClusterList *list);

/*
 * Read a list with only OIDs and names, which also contains excluded
 * databases.
 */
extern ClusterList cluster_list_read_names(PGconn *conn);

/*
 * Remove from a list that was read elsewhere the databases that match
 * --exclude-database.
 */
extern void cluster_list_exclude(ClusterList *list, PGconn *conn,
								 const Options *options);

/*
 * Report as an error each database of the list that exists on the target,
 * except postgres and template1: their rows would exist twice.
 */
extern void cluster_list_refuse_existing(const ClusterList *list,
										 PGconn *target);

/*
 * Is it postgres or template1?  initdb creates these two, so their contents
 * are restored into the existing ones (pg_dumpall.c:dumpDatabases).
 */
extern bool cluster_list_is_initial(const ClusterDatabase *database);

/*
 * The connection string of another database of an address, including all
 * secrets, so it must not be in any argument list; owned.
 */
extern char *cluster_list_conninfo(const PeerAddress *address,
								   const char *database);

/* ----------
 * Options whose patterns must match in at least one database.
 *
 * -t, -n, --where, --sample and --mask are errors if nothing matches.  With
 * several databases, a match in one is enough, but a mask without any match
 * must not go unnoticed.  So all databases are queried before the first run,
 * and the run of each gets the tables and schemas that match there.  If a
 * pattern no longer matches when the run begins, this is an error of that
 * run.  Masks and conditions are always passed on, so they also apply to
 * tables that are created later.
 * ----------
 */

typedef struct ClusterFilter ClusterFilter;

/*
 * Query each database of the list for matches, and remove databases without
 * anything that -t, or otherwise -n, selects.  If a database cannot be
 * queried, everything counts as matching there, so that its run fails.
 * Report as an error, like pg_dump, patterns that match nowhere.  conn is the
 * session from which list and address come; signals must cancel its
 * statements.  Owned.
 */
extern ClusterFilter *cluster_filter_read(PGconn *conn,
										  const PeerAddress *address,
										  ClusterList *list,
										  const Options *options);

/* For add_args() of a ClusterRun: add the options for this database. */
extern void cluster_filter_add_args(const ClusterFilter *filter,
									const ClusterDatabase *database,
									SimpleStringList *args);

/* ----------
 * Sessions for the cluster as a whole.
 * ----------
 */

/*
 * Connect to the database that the user named, also in a connection string,
 * otherwise to postgres, otherwise to template1, as pg_dumpall does.  Names
 * are sent and received as bytes, without conversion.
 */
extern PGconn *cluster_session_open(const ConnParams *connection,
									const char *password_command,
									const char *progname);

/* Connect in this way to an address; ends with session_lost() on failure. */
extern PGconn *cluster_session_open_again(const PeerAddress *address,
										  const char *progname);

/* The settings of both, for a session that is open. */
extern void cluster_session_set_up(PGconn *conn);

/* Close it before the runs of databases, which may take hours. */
extern void cluster_session_close(PGconn *conn);

/* Add the options of every run, for add_args(). */
extern void cluster_session_add_args(SimpleStringList *args,
									 const Options *options,
									 const char *conninfo);

/* ----------
 * The connections for the runs of all databases.
 *
 * They are checked before anything is created, because a run that cannot
 * connect would fail after hours of work of the others.  findings_report()
 * ends the program if there were errors.
 * ----------
 */

/*
 * Report an error if the server, or the role, allows fewer connections than
 * there may be at a time: those of the workers, and of the leaders of runs;
 * the number of leaders is that of jobs or databases.  Warn if the role
 * cannot see this.  Also report an error if this process may not have as many
 * open files as one leader needs.  The session itself must end before the
 * runs begin.
 *
 * With --cluster-snapshot each database also has a guard, which is a session
 * and an open file.  Its own limit counts, too: fewer workers than jobs can
 * do the work, but one has to connect.  With --shared-snapshot, another
 * program dumps one database after the other.
 */
extern void cluster_check_source(PGconn *conn, const Options *options,
								 const ClusterList *list);

/*
 * Check the target of a restore or copy in the same way.  Also warn if there
 * is no room for index builds.
 */
extern void cluster_check_target(PGconn *conn, const Options *options,
								 int n_databases);

/*
 * A line for --check, owned: how many connections the runs need at most, and
 * how many the server has left.
 */
extern char *cluster_source_connections(PGconn *conn, const Options *options,
										const ClusterList *list);
extern char *cluster_target_connections(PGconn *conn, const Options *options,
										const ClusterList *list);

/*
 * --check: print the first lines of what would be done on a target.  The
 * format of the first one contains the number and the size of the databases;
 * globals is the result of globals_names().
 */
extern void cluster_list_show(const ClusterList *list, const char *format,
							  PGconn *target, const char *globals);

/*
 * --check of a copy: print what would be done, and what was not checked.
 * globals is the result of globals_names(), and source_connections a line of
 * cluster_source_connections().
 */
extern void cluster_list_show_copy(PGconn *target, const Options *options,
								   const ClusterList *list,
								   const char *globals,
								   const char *source_connections);

#endif							/* CLUSTER_LIST_H */
