/*
 * cluster_list.h
 *		The databases of a cluster.
 */
#ifndef CLUSTER_LIST_H
#define CLUSTER_LIST_H

#include "session/connection.h"

/* What a restore has to do with a database (cluster_notes.h). */
typedef enum ClusterTodo
{
	CLUSTER_TODO_NOTHING = 0,	/* it was restored before */
	CLUSTER_TODO_CREATE,
	CLUSTER_TODO_CREATE_AGAIN,	/* an earlier run left it empty */
	CLUSTER_TODO_BEGIN,			/* in a database that exists */
	CLUSTER_TODO_RESUME,
	CLUSTER_TODO_REFUSED		/* an error was reported */
} ClusterTodo;

typedef struct ClusterDatabase
{
	char	   *name;			/* its bytes, in any encoding */
	Oid			oid;			/* on the source */
	uint64		bytes;			/* pg_database_size(); 0 if the role may not
								 * ask */
	bool		is_template;	/* others may be made from it */
	bool		failed;			/* it is not complete */
	bool		run_failed;		/* it may be complete anyway */
	bool		with_errors;	/* of a restore: only by errors ignored */
	const char *identity;		/* of a restore: that of its archive */
	Oid			target;			/* of a restore: on the target; or 0 */
	ClusterTodo todo;			/* of a restore */
	bool		existed;		/* of a restore: when the first run began */
	bool	   *matches;		/* which patterns do: see cluster_list.c */
} ClusterDatabase;

typedef struct ClusterList
{
	ClusterDatabase *databases; /* the largest first */
	int			n;
	int			n_before;		/* of a restore: more, which earlier runs have
								 * restored */
} ClusterList;

/*
 * The databases that pg_dumpall would dump: but template0, those that allow
 * no connections, those whose removal was interrupted, and those that a
 * pattern of --exclude-database matches.
 */
extern ClusterList cluster_list_read(PGconn *conn, const Options *options);

/*
 * Add the names of the databases whose run failed to a list for a message.
 * A restore only with ignored errors is left out.
 */
extern void cluster_list_add_failed(PQExpBuffer names, const ClusterList *list);

/*
 * The same with OIDs and names alone, and with those that are excluded.
 */
extern ClusterList cluster_list_read_names(PGconn *conn);

/* Leave out those of a list from elsewhere that such a pattern matches. */
extern void cluster_list_exclude(ClusterList *list, PGconn *conn,
								 const Options *options);

/*
 * Report each database of the list that the target has already, but those
 * two, as an error: rows would be there twice.
 */
extern void cluster_list_refuse_existing(const ClusterList *list,
										 PGconn *target);

/*
 * pg_dumpall makes these two by initdb's means: what is in them is restored
 * into those that are there (pg_dumpall.c:dumpDatabases).
 */
extern bool cluster_list_is_initial(const ClusterDatabase *database);

/*
 * How to connect to another database of an address, all secrets included:
 * for no argv that others see; owned.
 */
extern char *cluster_list_conninfo(const PeerAddress *address,
								   const char *database);

/* ----------
 * Options that name what must be there, if not in every database.
 *
 * -t, -n, --where, --sample and --mask are errors where nothing matches.  Of
 * several databases one that matches is enough, but a mask that is none
 * anywhere must not go unnoticed: so all databases are asked before the first
 * one has its turn, and the run of each is given the tables and schemas that
 * match there.  What does not any more when the turn has come is an error of
 * that run; masks and conditions that match only by then still hold.
 * ----------
 */

typedef struct ClusterFilter ClusterFilter;

/*
 * Ask each database of the list what matches there, and leave out those that
 * have nothing of what -t, or else -n, names.  One that cannot be asked is
 * taken to have all, for its run to fail.  Report an error, as pg_dump does,
 * for what matches nowhere.  conn is the session whose list and address it
 * is, which is to be the one that signals cancel.  Owned.
 */
extern ClusterFilter *cluster_filter_read(PGconn *conn,
										  const PeerAddress *address,
										  ClusterList *list,
										  const Options *options);

/* For add_args() of a ClusterRun: what is for this database. */
extern void cluster_filter_add_args(const ClusterFilter *filter,
									const ClusterDatabase *database,
									SimpleStringList *args);

/* ----------
 * A session for what concerns a cluster, not one of its databases.
 * ----------
 */

/*
 * Connect to the database that the user named, be it in a connection string,
 * else to postgres, else to template1, as pg_dumpall does.  Names come and go
 * as the bytes that they are.
 */
extern PGconn *cluster_session_open(const ConnParams *connection,
									const char *password_command,
									const char *progname);

/* The same at an address; ends by session_lost() if that fails. */
extern PGconn *cluster_session_open_again(const PeerAddress *address,
										  const char *progname);

/* The settings of both, for a session that is open. */
extern void cluster_session_set_up(PGconn *conn);

/* None is open while databases have their turn, which may be for hours. */
extern void cluster_session_close(PGconn *conn);

/* The options of every run: for its add_args(). */
extern void cluster_session_add_args(SimpleStringList *args,
									 const Options *options,
									 const char *conninfo);

/* ----------
 * Has a cluster room for the runs of all its databases?
 *
 * Looked at before anything is made, as a run that is refused a session later
 * would fail after hours of work of others.  An error is for
 * findings_report() to end the program.
 * ----------
 */

/*
 * Report an error if the server, or the role, allows fewer connections than
 * there may be at a time, of workers and of the leaders of runs, of which
 * there are as many as jobs, or databases; warn if that cannot be seen.  So
 * too if this process may not have as many files open as one leader needs.
 * The session itself is to end before the runs begin.  With
 * --cluster-snapshot there is one more session, a guard, and an open file,
 * for each database, whose own limits count, too: fewer workers do the work,
 * but one has to connect.  With --shared-snapshot, another program dumps one
 * database after the other.
 */
extern void cluster_check_source(PGconn *conn, const Options *options,
								 const ClusterList *list);

/*
 * The same of a target, be it a restore's or a copy's; and a warning if there
 * is no room for the builds of indexes besides.
 */
extern void cluster_check_target(PGconn *conn, const Options *options,
								 int n_databases);

#endif							/* CLUSTER_LIST_H */
