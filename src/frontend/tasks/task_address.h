/*
 * task_address.h
 *		How a task reaches the server.
 */
#ifndef TASK_ADDRESS_H
#define TASK_ADDRESS_H

#include "options/options.h"
#include "session/connection.h"
#include "tasks/task_plan.h"

/*
 * As the leader has, but for what this host's command line says: the server
 * may have another name here.  Passwords are found as libpq finds them
 * (PGPASSFILE), or printed by this host's command, which may be NULL.  Owned.
 */
extern PeerAddress *task_address(const char *conninfo,
								 const ConnParams *params,
								 const char *password_command);

/*
 * In the leader: how it has reached the server, of which this is a session,
 * for the plan; owned.  Other hosts have another environment: what decides
 * whom to trust, and what is read, is that of the leader, wherever it had
 * that from.  The last of a keyword counts.
 */
extern char *task_address_of(PGconn *conn, const PeerAddress *address);

/*
 * Settings that libpq takes from its environment alone: note in a plan what
 * this process has, and have in this process what a plan says, before it
 * connects.
 */
extern void task_address_note_environment(TaskRun *run);
extern void task_address_set_environment(const TaskRun *run);

#endif							/* TASK_ADDRESS_H */
