/*
 * server_share.h
 *		What each of several servers has to do with a run (--also-from).
 */
#ifndef SERVER_SHARE_H
#define SERVER_SHARE_H

#include "status/run.h"

/* "Rows are read from 2 servers: ..."; owned; NULL if there is one only. */
extern char *server_share_plan(const Run *run);

/*
 * What was read from each: "a:5432 12 files, 1.2 GB; ..."; owned; NULL if
 * there is one only.
 */
extern char *server_share_text(const Run *run);

/* The same for the event log: "server" for each. */
extern void server_share_note(const Run *run);

#endif							/* SERVER_SHARE_H */
