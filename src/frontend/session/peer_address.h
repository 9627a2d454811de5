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

typedef struct PeerAddress
{
	char	   *conninfo;		/* no secret in it: fit for argv and logs */
	ChildSecrets secrets;		/* password is NULL when none was used */
	char	   *tcp_settings;	/* " keyword=value ...": what a program needs
								 * after conninfo to notice a lost peer */
	char	   *private_conninfo;	/* conninfo, these, and all secrets but
									 * the password */
} PeerAddress;

/*
 * The address of a connection's server, for those who come after; owned.
 * takes_rows: see tcp_setting_conninfo().
 */
extern PeerAddress *peer_address_new(PGconn *conn, bool takes_rows);

#endif							/* PEER_ADDRESS_H */
