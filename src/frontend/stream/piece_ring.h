/*
 * piece_ring.h
 *		Pieces of a text on their way from the process that reads it to those
 *		that use them, in memory they share.
 *
 * Each process that takes part has a lane; one of them is the reader.  It
 * offers pieces in slots, in their order; a piece belongs to whoever takes
 * it, also while it is still being written, and its slot is free when that
 * one has released it.  A slot has room for so many bytes: a piece that is
 * longer goes through it in a circle, and its writer waits for its taker.
 *
 * Any of them may die at any moment, by SIGKILL, too, and no other hangs or
 * loses a piece:
 *
 * - Who lives is known by locks that the kernel gives up for the dead
 *   (robust mutexes), one a lane, and one for the reader.  Nothing else is
 *   locked, so nobody dies within something.
 * - The piece of a dead taker is offered again, as long as its slot has all
 *   of it; else it is lost: whoever takes it must read the text alone.
 * - With a dead reader the piece it was writing is lost to its taker.
 *   Another lane becomes the reader and goes on at the next piece.
 *
 * So a piece can be taken twice, if who had it died between having used it
 * up and releasing it.  It is "again" then, and the taker must look whether
 * there is anything left to do.
 */
#ifndef PIECE_RING_H
#define PIECE_RING_H

#include "base/fe_compat.h"

#include <sys/types.h>

typedef struct PieceRing PieceRing;

/*
 * What a lane has taken.  Its members but "piece" and "again" are of
 * piece_ring.c.
 */
typedef struct TakenPiece
{
	uint64		piece;			/* its number */
	bool		again;			/* somebody has had it before */
	bool		alone;			/* lost: not to be had from the ring */
	int			slot;			/* n_slots of what the reader keeps */
	uint64		position;		/* up to here it has been read */
	size_t		lent;			/* so much after that is with the caller */
} TakenPiece;

/*
 * A ring for lanes 0 to n_lanes - 1, with so many slots, each of that size.
 * Made before the processes are forked, never freed; nothing of a slot takes
 * up memory before it is used.  Exits with a message if there is no room.
 */
extern PieceRing *piece_ring_new(int n_lanes, int n_slots, size_t slot_bytes);

/*
 * This process is that lane from now on; one that died may have been it
 * before.  Until it leaves: then it has nothing that it has taken, and is not
 * the reader.
 */
extern void piece_ring_join(PieceRing *ring, int lane);
extern void piece_ring_leave(PieceRing *ring, int lane);

extern int	piece_ring_slots(const PieceRing *ring);

/* Nobody will ever call anything of it again: its slots take up no memory. */
extern void piece_ring_discard(PieceRing *ring);

/* Are all pieces that there are offered, and no more to come? */
extern bool piece_ring_closed(const PieceRing *ring);

/* The text cannot be read: everybody should stop.  And should they? */
extern void piece_ring_fail(PieceRing *ring);
extern bool piece_ring_failed(const PieceRing *ring);

/* Wait a little for others to do something. */
extern void piece_ring_wait(void);

/* ----------
 * The reader
 * ----------
 */

/*
 * Become the reader, if there is none; false if there is, or the ring is
 * closed.  *next is the first piece that nobody has got from a reader yet.
 */
extern bool piece_ring_lead(PieceRing *ring, uint64 *next);

/*
 * No longer be it: all has been offered, unless the ring has failed, which
 * ends it for all.
 */
extern void piece_ring_close(PieceRing *ring);

/* Is there another lane that could take a piece? */
extern bool piece_ring_has_others(PieceRing *ring, int lane);

/*
 * Begin a piece, all before which are ended; false if no slot is free.
 */
extern bool piece_ring_offer(PieceRing *ring, uint64 piece);

/*
 * Or the reader uses it itself, without a slot: it begins, and has used it
 * up.  Has a reader that is dead begun that with this piece?  Then it must be
 * the same again: nobody else could look what has come of it.
 */
extern void piece_ring_keep(PieceRing *ring, uint64 piece);
extern void piece_ring_pass(PieceRing *ring, uint64 piece);
extern bool piece_ring_was_kept(const PieceRing *ring, uint64 piece);

/*
 * The next bytes of the piece that was begun.  Waits for room.  Nothing is
 * written if its taker does not want the rest, or it is lost.
 */
extern void piece_ring_write(PieceRing *ring, int lane, const char *data,
							 size_t len);

/* That was all of it. */
extern void piece_ring_end(PieceRing *ring);

/* ----------
 * Takers, of which the reader may be one
 * ----------
 */

/*
 * Take a piece, if there is one; the reader asks for those only that are
 * written to their ends.  False if there is none at the moment.
 */
extern bool piece_ring_take(PieceRing *ring, int lane, bool ended_only,
							TakenPiece *taken);

/*
 * Some more of it, borrowed until the next call; waits for it.  The length, 0
 * at the end of the piece, -1 if the reader is gone, or the ring failed: then
 * it must be given back.
 */
extern ssize_t piece_ring_read(PieceRing *ring, TakenPiece *taken,
							   const char **data);

/* It is used up; or it is not, and lost. */
extern void piece_ring_release(PieceRing *ring, const TakenPiece *taken);
extern void piece_ring_give_back(PieceRing *ring, const TakenPiece *taken);

#endif							/* PIECE_RING_H */
