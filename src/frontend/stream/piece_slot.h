/*
 * piece_slot.h
 *		A slot of a piece_ring.h, and what becomes of the piece in it.
 *
 * A slot's state, who has it, whether somebody had it before, and how often
 * that changed are one word, which changes by an atomic compare and exchange
 * of what was seen: of several that find a taker dead only one acts, and none
 * on what has changed since.
 *
 *		FREE -> OFFERED			the reader begins a piece
 *		OFFERED -> TAKEN		a lane takes it, and reads
 *		TAKEN -> FREE			and has used it up
 *		TAKEN -> ORPHAN			its taker is known to be dead, the reader may
 *								be writing
 *		TAKEN, ORPHAN -> OFFERED	the taker is dead, and all is in the slot
 *		TAKEN, ORPHAN, OFFERED -> LOST	it is not, or there is no writer
 *		LOST -> ALONE -> FREE	a lane takes it, reads the text itself
 *		OFFERED -> FREE			a new reader begins anew what its predecessor
 *								could not end
 */
#ifndef PIECE_SLOT_H
#define PIECE_SLOT_H

#include "base/fe_compat.h"

typedef enum PieceSlotState
{
	SLOT_FREE,
	SLOT_OFFERED,
	SLOT_TAKEN,
	SLOT_ORPHAN,
	SLOT_LOST,
	SLOT_ALONE
} PieceSlotState;

/* In shared memory; all zero is a free one. */
typedef struct PieceSlot
{
	uint64		word;			/* state, again, lane and count of changes */
	uint64		piece;
	uint32		epoch;			/* the reader that writes it */
	int			wrapped;		/* its begin has been written over */
	int			ended;			/* all of it is written */
	uint64		written;		/* bytes */
	uint64		used;			/* by the taker */
} PieceSlot;

/* What a word says: the state, and the lane that has the slot. */
extern PieceSlotState piece_slot_state(uint64 word);
extern int	piece_slot_lane(uint64 word);

/* Has somebody had the piece who may have used it up before he died? */
extern bool piece_slot_again(uint64 word);

/*
 * Is the state still what was seen?  Then it is this one now.  A piece that
 * somebody has had is had again by whoever has it next, in whichever way it
 * got there.
 */
extern bool piece_slot_change(PieceSlot *slot, uint64 seen,
							  PieceSlotState state, int lane);

#endif							/* PIECE_SLOT_H */
