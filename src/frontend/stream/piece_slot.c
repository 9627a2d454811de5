/*
 * piece_slot.c
 *		A slot of a piece_ring.h, and what becomes of the piece in it.
 */
#include "base/fe_compat.h"

#include "stream/piece_slot.h"

#define WORD_AGAIN 0x80

PieceSlotState
piece_slot_state(uint64 word)
{
	return (PieceSlotState) (word & 0x7F);
}

int
piece_slot_lane(uint64 word)
{
	return (int) ((word >> 8) & 0xFFFFFF);
}

bool
piece_slot_again(uint64 word)
{
	return (word & WORD_AGAIN) != 0;
}

bool
piece_slot_change(PieceSlot *slot, uint64 seen, PieceSlotState state, int lane)
{
	uint64		word = (((seen >> 32) + 1) << 32) | ((uint64) lane << 8) | state;
	PieceSlotState before = piece_slot_state(seen);

	if (state != SLOT_FREE &&
		(piece_slot_again(seen) || before == SLOT_TAKEN ||
		 before == SLOT_ORPHAN || before == SLOT_ALONE))
		word |= WORD_AGAIN;
	return __atomic_compare_exchange_n(&slot->word, &seen, word, false,
									   __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}
