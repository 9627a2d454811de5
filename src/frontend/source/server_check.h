/*
 * server_check.h
 *		Looks, before a run does anything, at what would make it fail or harm.
 *
 * An error is for findings_settle() to end the run.  A server that is not the
 * only one has a name for messages; else that is NULL.
 */
#ifndef SERVER_CHECK_H
#define SERVER_CHECK_H

#include "session/session.h"

/* What a server lets the role ask for. */
typedef struct ServerRights
{
	bool		lsn;			/* positions in the write-ahead log */
	bool		system_identifier;
	bool		age;			/* of snapshots, by the user who connected */
} ServerRights;

/*
 * Tell of an error, and the number of jobs that would do, if the server, the
 * database or the role allows fewer connections than there are to be workers;
 * warn if it allows just these (see leader_session.c:take_over), or if it may
 * be fewer, as the role does not see what sessions of others are.  Others may
 * take connections meanwhile: then fewer workers do the work, if any can
 * start.  Of servers before 10 connections are not looked at.
 *
 * Warn if this is a standby whose replay does not wait for the run as long as
 * it takes, whatever it does.  Of the only server also warn if the database's
 * oldest transaction ID is alarmingly old, and tell of an error if
 * old_snapshot_threshold lets it remove rows that the run's snapshot is going
 * to see.
 */
extern ServerRights server_check(PGconn *conn, const char *name,
								 int n_workers);

/*
 * One of several runs: the database of this OID is meant by its name.  While
 * others had their turn it may have got another's name, which then would be
 * read twice, and the other one not at all: that is an error.
 */
extern void server_expect_database(Oid oid);
extern void server_check_database(PGconn *conn);

#endif							/* SERVER_CHECK_H */
