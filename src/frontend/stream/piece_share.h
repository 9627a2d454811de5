/*
 * piece_share.h
 *		Several processes share the pieces of one text.
 *
 * Whichever of them comes first reads the text, cuts it (text_pieces.h), and
 * hands the pieces over to the others by a ring (piece_ring.h).  When that is
 * full it uses a piece itself; and when nobody else is there it does so with
 * all of them, straight from the text.  All processes call the same function,
 * as often as there are processes that should help, at any time; each of them
 * may die, and be replaced by one that calls it again.
 */
#ifndef PIECE_SHARE_H
#define PIECE_SHARE_H

#include "stream/piece_ring.h"
#include "stream/text_pieces.h"

typedef struct SharedPiece SharedPiece;

/* What is done, as the caller says it; arg is given to every callback. */
typedef struct PieceWork
{
	void	   *arg;
	uint64		range_bytes;	/* the same in all processes and runs */

	/*
	 * Open the text at its begin, and close it; more than one may be open.
	 * NULL, or -1 from read(), for an error, which they have told.
	 */
	void	   *(*open) (void *arg);
	TextReadCallback read;		/* of what open() has returned */
	void		(*close) (void *text);

	/* Has a run before this one done with the piece?  Or NULL. */
	bool		(*is_done) (void *arg, uint64 piece);

	/*
	 * Use a piece, by piece_share_next().  False if that returned -1, and the
	 * piece is as if it had never been begun; true if all is done that there
	 * is to do, though it may have read less than all of it.
	 */
	bool		(*use) (void *arg, SharedPiece *piece);

	/* Tell what is wrong with the text. */
	void		(*tell) (void *arg, const char *problem);
} PieceWork;

/*
 * How many slots a ring for so many processes needs so that none of them
 * waits while the reader uses a piece itself; not too many if they are many.
 */
extern int	piece_share_slots(int n_lanes);

/*
 * Take part until nothing is left to take.  What others have taken by then is
 * theirs; if they die, those that replace them find it.  False if the text
 * has an error, by whomever it was found, and told: then some pieces may have
 * been used.
 */
extern bool piece_share_run(PieceRing *ring, int lane, const PieceWork *work);

/*
 * In use(): the number of the piece, and whether another process may have
 * used it up already, and died before it said so.
 *
 * For those who note what has come of a piece: as long as nobody has said
 * that it is used up it has a place of its own, from 0 to the number of the
 * ring's slots, whichever process has it.
 */
extern uint64 piece_share_number(const SharedPiece *piece);
extern bool piece_share_again(const SharedPiece *piece);
extern int	piece_share_place(const SharedPiece *piece);

/*
 * Some more of it, which are whole lines together; borrowed until the next
 * call.  The length, 0 at its end, -1 if the rest cannot be had.
 */
extern ssize_t piece_share_next(SharedPiece *piece, const char **data);

#endif							/* PIECE_SHARE_H */
