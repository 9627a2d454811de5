/*
 * task_address.h
 *		How a task reaches the server.
 */
#ifndef TASK_ADDRESS_H
#define TASK_ADDRESS_H

#include "session/peer_address.h"
#include "options/options.h"

/*
 * As the leader has, but for what this host's command line says: the server
 * may have another name here.  Passwords are found as libpq finds them
 * (PGPASSFILE).  Owned.
 */
extern PeerAddress *task_address(const char *conninfo,
								 const ConnParams *params);

#endif							/* TASK_ADDRESS_H */
