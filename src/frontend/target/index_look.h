/*
 * index_look.h
 *		What the target says of an index that is being built, for the screen,
 *		or of one that may have been.
 */
#ifndef INDEX_LOOK_H
#define INDEX_LOOK_H

#include "progress/progress_line.h"
#include "session/connection.h"
#include "target/index_log.h"
#include "target/index_queue.h"

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

typedef enum IndexState
{
	INDEX_MISSING,
	INDEX_IN_WORK,				/* by a session whose client may be gone: it
								 * may yet come to be there */
	INDEX_BUILT,				/* with all that its entry says of it */
	INDEX_NOT_KNOWN,			/* the session does not tell */
} IndexState;

/*
 * An index, or a constraint that has one, which a pg_restore that was lost
 * may have built.  Its statements are one transaction each entry.
 */
extern IndexState index_look_at(PGconn *conn, const IndexBuild *build);

/*
 * The same for all of a batch: is_built, as builds by entry of the queue, is
 * set.  False if one is in work, or not known.
 */
extern bool index_look_at_batch(PGconn *conn, const IndexBatch *batch,
								const IndexBuild *builds, bool *is_built);

#endif							/* INDEX_LOOK_H */
