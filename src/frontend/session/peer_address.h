/*
 * peer_address.h
 *		How to reach the very server that a connection leads to.
 *
 * A name may stand for several servers, and a snapshot lives on one: so the
 * address is the one that was reached.
 */
#ifndef PEER_ADDRESS_H
#define PEER_ADDRESS_H

#include "base/fe_compat.h"

#include "libpq-fe.h"

#include "process/child_program.h"
#include "password/password_command.h"

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

#endif							/* PEER_ADDRESS_H */
