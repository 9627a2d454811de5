/*
 * index_look.h
 *		What the target says of an index that is being built, for the screen.
 */
#ifndef INDEX_LOOK_H
#define INDEX_LOOK_H

#include "progress/progress.h"
#include "session/connection.h"

#define INDEX_LOOK_PHASE_BYTES 64

/* All zero but for the address, before the first look. */
typedef struct IndexLook
{
	const PeerAddress *target_address;
	PGconn	   *conn;			/* its own session; NULL before the first */
	bool		given_up;		/* the target does not tell */
	char		phase[INDEX_LOOK_PHASE_BYTES];	/* ends in a space */
} IndexLook;

/*
 * A ProgressCompose: adds the table whose index has been under construction
 * for longest, the phase, and how much of that is done, if there is one and
 * the target tells it within a moment.  Nothing depends on it: no error is
 * one of the run's.
 */
extern void index_look_add(void *look, ProgressLine *line, bool at_end);

/* No more looks. */
extern void index_look_end(IndexLook *look);

#endif							/* INDEX_LOOK_H */
