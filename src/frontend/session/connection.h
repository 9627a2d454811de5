/*
 * connection.h
 *		Connections to servers, for the leader, for workers, and for pg_dump
 *		and other programs that this one runs.
 */
#ifndef CONNECTION_H
#define CONNECTION_H

#include "options/options.h"
#include "process/child_program.h"
#include "session/password.h"
#include "session/session.h"

/* ----------
 * TCP settings with which the system notices that the other end has vanished.
 *
 * A host can vanish without closing its connections.  This must be noticed
 * both while data is awaited and while the connection is idle.  Values that
 * the user has set are kept.
 * ----------
 */

/*
 * Both the server and this program give up a connection about 90 seconds
 * after the other end has vanished.
 */
#define KEEPALIVE_IDLE_S 30
#define KEEPALIVE_INTERVAL_S 10
#define KEEPALIVE_COUNT 6

/* ----------
 * How to reach exactly the server to which a connection leads.
 *
 * A host name may stand for several servers, but a snapshot exists on one
 * server only.  So the description contains the address that was reached.
 * ----------
 */

typedef struct PeerAddress
{
	char	   *conninfo;		/* contains no secrets, so it may appear in
								 * argument lists and logs */
	ChildSecrets secrets;		/* for programs: see peer_address_secrets() */
	char	   *password;		/* the one that was typed or is in the
								 * connection string; NULL if libpq finds it
								 * for each connection, or the command prints
								 * it */
	PasswordCommand *command;	/* or NULL */
	char	   *service;		/* " service=...", where libpq finds the
								 * password; or NULL */
	char	   *tcp_settings;	/* " keyword=value ...": to be appended to
								 * conninfo, so that a program notices a lost
								 * peer */
	char	   *private_conninfo;	/* conninfo, service, TCP settings, and
									 * all secrets except the password */
	char	   *own_conninfo;	/* for peer_address_for_own_service() */
	char	   *own_service;
	char	   *own_password;
} PeerAddress;

/*
 * The address of a connection's server, for other processes; owned.
 * takes_rows: see tcp_setting_conninfo().  given is the database name or
 * connection string from the command line, and password_command the command
 * that printed the password; either may be NULL.
 */
extern PeerAddress *peer_address_new(PGconn *conn, bool takes_rows,
									 const char *given,
									 const char *password_command);

/*
 * The connection string, and in *secrets the secrets, with which a program
 * reaches the server.  If a command prints the password, it is run.  If it
 * fails, the failure is reported, and the program gets its last output.
 */
extern char *peer_address_for_program(const PeerAddress *address);
extern const ChildSecrets *peer_address_secrets(const PeerAddress *address);

/*
 * Returns the connection string for a program whose service file the caller
 * writes.  The values that a service of the user's gave this connection are
 * in the result, which is owned, and in secrets, whose service is not NULL.
 * The program must connect at once, because it does not learn about a
 * password that changes later.
 */
extern char *peer_address_for_own_service(const PeerAddress *address,
										  ChildSecrets *secrets);

/* ----------
 * The number of further connections that the limits of a server allow.
 * ----------
 */

/*
 * The numbers differ if the role may not see the kind of other roles'
 * sessions, because it lacks the privileges of pg_read_all_stats.  They are
 * never negative.
 */
typedef struct ConnectionsLeft
{
	int			at_most;		/* if no hidden session is a client */
	int			at_least;		/* if all hidden sessions are clients */
	int			limit;			/* the one that leaves at_most */
} ConnectionsLeft;

enum
{
	CONNECTION_LIMIT_SERVER,	/* max_connections */
	CONNECTION_LIMIT_ROLE,
	CONNECTION_LIMIT_DATABASE
};

/*
 * Returns how many connections the limits of the server, of the role and, if
 * of_database is true, of the database leave besides this session.  Servers
 * before 10 do not show which sessions are clients; the result is
 * PG_INT32_MAX then.
 */
extern ConnectionsLeft connection_limit_left(PGconn *conn, bool of_database);

/*
 * These do the same in a query of the caller: connection_limit_expression()
 * returns an expression (owned), and connection_limit_read() its value in the
 * result.
 */
extern char *connection_limit_expression(PGconn *conn, bool of_database);
extern ConnectionsLeft connection_limit_read(const PGresult *res, int column);

/* The hint if there is no room for index builds only. */
#define CONNECTIONS_BUILDS_HINT "If connections fail, use smaller numbers for --jobs or --index-jobs."

/*
 * Report, as an error or a warning, that the server of a session, or its
 * database if that has the smallest limit, has fewer connections left than a
 * run needs; or, as a warning, that this may be so, because the role does not
 * see which sessions are clients.
 */
extern void connection_limit_report(int level, const PGconn *conn,
									const ConnectionsLeft *connections,
									int left, int needed);
extern void connection_limit_report_hidden(const PGconn *conn, int at_least,
										   int needed);

/*
 * The hint of such a message: how many jobs there is room for (may be 0), and
 * the limit to increase.
 */
extern void connection_limit_hint(int level, const PGconn *conn,
								  const ConnectionsLeft *left, int jobs);

/*
 * Warn if the server leaves fewer than n_sessions connections.  The n tasks
 * need at least that many on this server if all run at a time: each has a
 * session of one worker on every server that it reads, and one more on the
 * server where it watches the leader.  This is only a warning, because the
 * user may know that fewer tasks run at a time.
 */
extern void connection_limit_check_tasks(PGconn *conn, int n_tasks,
										 int n_sessions);

/*
 * In a task: warn in this way about the sessions of its own workers.  conn is
 * the session of the task.  n_workers is the number of workers on this
 * server, one of n_servers.
 */
extern void connection_limit_check_workers(PGconn *conn, int n_workers,
										   int n_servers);

/*
 * How long one attempt to connect may take, unless PGCONNECT_TIMEOUT says
 * otherwise.
 */
#define CONNECTION_ATTEMPT_S 30

/*
 * How many times connection_ask() looks for a pooler that does not keep one
 * server session for each client.  The default is 3; the constant is for
 * --check.
 */
#define CONNECTION_CHECK_PROBES 20
extern void connection_set_probes(int n);

/*
 * How many seconds connection_ask() waits for a server that sends nothing,
 * unless --stall-timeout says otherwise; 0 means forever.
 */
#define CONNECTION_SILENCE_S 60
extern void connection_set_stall_timeout(uint64 seconds);

/*
 * Connect with these parameters.  A connection that failed is returned, too.
 * Messages that the server sends before and after authentication are made
 * safe for terminals.
 *
 * The user is asked for a password with -W, or if the server wants a password
 * and none is known, unless one was typed before for this server and role
 * (password.h).  An empty answer is not tried.  If password_command is not
 * NULL, the password is its output, and the user is not asked.
 *
 * Exits with a message if a pooler assigns transactions to different
 * backends; another session is opened for a moment to find this out.  Also
 * exits with a message if the server sends nothing for the time of
 * connection_set_stall_timeout().  The search_path of the session is empty.
 */
extern PGconn *connection_ask(const ConnParams *params,
							  const char *password_command,
							  const char *progname);

/* Report that connection_ask() failed, in libpq's words. */
extern void connection_report_failure(const PGconn *conn);

/*
 * Connect with the user's options, using connection_ask(); exits with a
 * message on failure.
 */
extern PGconn *connection_open_leader(const Options *options,
									  const char *progname);

/*
 * Connect with other parameters in the same way.  password_command may be
 * NULL.
 */
extern PGconn *connection_open_params(const ConnParams *params,
									  const char *password_command,
									  const char *progname);

/*
 * Connect to the database postgres or, if that fails, to template1, instead
 * of the database that the parameters name.
 */
extern PGconn *connection_open_maintenance(const ConnParams *params,
										   const char *password_command,
										   const char *progname);

/*
 * A PQnoticeReceiver that writes to standard error, safely for terminals, and
 * counts warnings as findings.
 */
extern void connection_show_notice(void *arg, const PGresult *res);

/*
 * Connect to a peer again; the session has the server's default settings.
 * Ends with session_lost() on failure, because another attempt may succeed.
 */
extern PGconn *connection_open_peer(const PeerAddress *address,
									const char *progname);

/*
 * Connect to a peer, and return the connection even if it could not be made:
 * connection_words() has the reason.
 */
extern PGconn *connection_try_peer(const PeerAddress *address,
								   const char *progname);

/*
 * Connect to a peer in this way with replication=database, which the server
 * answers with a walsender.
 */
extern PGconn *connection_try_replication(const PeerAddress *address,
										  const char *progname);

/*
 * Returns why a connection to a peer could not be made: libpq's message or,
 * if the password command failed, that command's message.  Only the last
 * connection that failed may be asked about; borrowed.
 */
extern const char *connection_words(const PGconn *conn);

/* A server in messages: its host or socket directory, and its port; owned. */
extern char *connection_server_name(const PGconn *conn);

/* Exit with a message if the server is older than this version. */
extern void connection_require_version(const PGconn *conn, int version,
									   const char *name);

/* Does the connection use a Unix-domain socket? */
extern bool connection_is_unix_socket(const PGconn *conn);

/*
 * Is the other end on this machine, through a socket or the loopback
 * interface?  Such an address means another server if it is used on another
 * machine.
 */
extern bool connection_is_local(const PGconn *conn);

#endif							/* CONNECTION_H */
