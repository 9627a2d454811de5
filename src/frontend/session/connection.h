/*
 * connection.h
 *		Connections to the server: the leader's, the workers', pg_dump's.
 */
#ifndef CONNECTION_H
#define CONNECTION_H

#include "options/options.h"
#include "process/child_program.h"
#include "session/password.h"
#include "session/session.h"

/* ----------
 * Settings of TCP by which a peer's silent end is noticed.
 *
 * A peer that vanished without a word is to be noticed, be it while data is
 * awaited or while none is.  What the user chose stays.
 * ----------
 */

/*
 * A connection whose other end is gone is given up after about 90 seconds, by
 * us as by the server.
 */
#define KEEPALIVE_IDLE_S 30
#define KEEPALIVE_INTERVAL_S 10
#define KEEPALIVE_COUNT 6

/* ----------
 * How to reach the very server that a connection leads to.
 *
 * A name may stand for several servers, and a snapshot lives on one: so the
 * address is the one that was reached.
 * ----------
 */

typedef struct PeerAddress
{
	char	   *conninfo;		/* no secret in it: fit for argv and logs */
	ChildSecrets secrets;		/* for programs: see peer_address_secrets() */
	char	   *password;		/* that was typed, or is in the connection
								 * string; NULL = libpq finds it for each
								 * connection, or the command prints it */
	PasswordCommand *command;	/* or NULL */
	char	   *service;		/* " service=...", which libpq has the
								 * password from; or NULL */
	char	   *tcp_settings;	/* " keyword=value ...": what a program needs
								 * after conninfo to notice a lost peer */
	char	   *private_conninfo;	/* conninfo, all that, and all secrets but
									 * the password */
	char	   *own_conninfo;	/* for peer_address_for_own_service() */
	char	   *own_service;
	char	   *own_password;
} PeerAddress;

/*
 * The address of a connection's server, for those who come after; owned.
 * takes_rows: see tcp_setting_conninfo().  given is what the user gave as the
 * database's name, or as the connection string, and password_command the text
 * of the command that has given the password; either may be NULL.
 */
extern PeerAddress *peer_address_new(PGconn *conn, bool takes_rows,
									 const char *given,
									 const char *password_command);

/*
 * How a program reaches the server, and with which secrets.  If a command
 * gives the password, it is run; if it fails, that is told, and the program
 * has its last output.
 */
extern char *peer_address_for_program(const PeerAddress *address);
extern const ChildSecrets *peer_address_secrets(const PeerAddress *address);

/*
 * The same for a program whose service file the caller writes: what a service
 * of the user's has given this connection is in the result, which is owned,
 * and in *secrets, whose service is not NULL.  The program connects at once:
 * it does not learn of a password that changes later.
 */
extern char *peer_address_for_own_service(const PeerAddress *address,
										  ChildSecrets *secrets);

/* ----------
 * How many more connections a server has for us.
 * ----------
 */

/*
 * The two differ if the role may not see what sessions of others are: without
 * the privileges of pg_read_all_stats.  Never below 0.
 */
typedef struct ConnectionsLeft
{
	int			at_most;		/* if none of those is a client's */
	int			at_least;		/* if all of them are */
} ConnectionsLeft;

/* Says of these two why they differ: an errdetail. */
#define CONNECTIONS_HIDDEN_DETAIL \
"Without the privileges of pg_read_all_stats, the role cannot see which sessions are client sessions."

/*
 * What the server, the role and, if that is asked for, the database of this
 * session leave, this session being there already.  PG_INT32_MAX if servers
 * before 10 are asked, which do not tell.
 */
extern ConnectionsLeft connection_limit_left(PGconn *conn, bool of_database);

/* The same as an expression of another query, owned; and its value. */
extern char *connection_limit_expression(PGconn *conn, bool of_database);
extern ConnectionsLeft connection_limit_read(const PGresult *res, int column);

/*
 * Warn if n tasks, of that number of sessions each at least, cannot be at
 * work at a time: each has one worker's, on any of the servers that it reads,
 * and on each where it looks for the leader one for that.  Who runs them may
 * know better how many are.  server is what it is called in the message.
 */
extern void connection_limit_check_tasks(PGconn *conn, const char *server,
										 int n_tasks, int n_sessions);

/* In a task, whose own session this is: the same of its workers. */
extern void connection_limit_check_workers(PGconn *conn, int n_workers);

/*
 * How long one attempt to connect may take, unless PGCONNECT_TIMEOUT says
 * otherwise.
 */
#define CONNECTION_ATTEMPT_S 30

/*
 * How many times connection_ask() looks for a pooler that does not keep a
 * server session for each client, unless it is a few; and how many for
 * --check.
 */
#define CONNECTION_CHECK_PROBES 20
extern void connection_set_probes(int n);

/*
 * How many seconds connection_ask() waits for a server that sends nothing,
 * unless --stall-timeout says otherwise; 0 is for ever.
 */
#define CONNECTION_SILENCE_S 60
extern void connection_set_stall_timeout(uint64 seconds);

/*
 * Connect with these parameters.  The connection is returned even if it could
 * not be made.  What the server says before and after it has let us in
 * commands no terminal.
 *
 * The user is asked for a password if the server wants one and there is none,
 * or with -W, unless one was typed before for this server and role
 * (password.h).  After an empty answer there is no second attempt.
 * Unless password_command is NULL, the password is what it prints, and the
 * user is not asked.  Exits with a message if a pooler gives transactions to
 * other backends, for which there is one more session for a moment, or if the
 * server sends nothing for the time of connection_set_stall_timeout().  The
 * search_path is secure in these sessions.
 */
extern PGconn *connection_ask(const ConnParams *params,
							  const char *password_command,
							  const char *progname);

/* Report that connection_ask() failed, in libpq's words. */
extern void connection_report_failure(const PGconn *conn);

/*
 * Connect as the user asked, by connection_ask(); exits with a message on
 * failure.
 */
extern PGconn *connection_open_leader(const Options *options,
									  const char *progname);

/* The same to any server.  password_command may be NULL. */
extern PGconn *connection_open_params(const ConnParams *params,
									  const char *password_command,
									  const char *progname);

/*
 * The same to the database postgres, or else template1, in place of whichever
 * the parameters name.
 */
extern PGconn *connection_open_maintenance(const ConnParams *params,
										   const char *password_command,
										   const char *progname);

/* A PQnoticeProcessor: to standard error, safely. */
extern void connection_show_notice(void *arg, const char *message);

/*
 * Connect to a peer again; the result's settings are the server's defaults.
 * Ends by session_lost() when that fails.
 */
extern PGconn *connection_open_peer(const PeerAddress *address,
									const char *progname);

/*
 * The same, but returns the connection even if it could not be made:
 * connection_words() has the reason.
 */
extern PGconn *connection_try_peer(const PeerAddress *address,
								   const char *progname);

/* The same for replication (of the database), by a walsender. */
extern PGconn *connection_try_replication(const PeerAddress *address,
										  const char *progname);

/*
 * Why a connection to a peer could not be made: libpq's message, or, if there
 * was no password to connect with, what the command has said.  Of the last
 * one that could not be made; borrowed.
 */
extern const char *connection_words(const PGconn *conn);

/* Is it by a Unix-domain socket? */
extern bool connection_is_unix_socket(const PGconn *conn);

/*
 * Is the other end on this machine, by a socket or the loopback interface?
 * An address of this kind means something else elsewhere.
 */
extern bool connection_is_local(const PGconn *conn);

#endif							/* CONNECTION_H */
