/*
 * piece_ring.c
 *		Pieces of a text on their way from process to process.
 *
 * Only the reader writes into a slot (piece_slot.h), and only it makes a slot
 * that is being written OFFERED again, so that it knows what it may write
 * over.
 */
#include "base/fe_compat.h"

#include "base/shared_memory.h"
#include "process/robust_mutex.h"
#include "stream/piece_ring.h"
#include "stream/piece_slot.h"

#define WAIT_US 1000

/* At most so much is lent at a time, so that room is made as it is used. */
#define LEND_BYTES ((size_t) 256 * 1024)

struct PieceRing
{
	int			n_lanes;
	int			n_slots;
	size_t		slot_bytes;
	uint32		epoch;			/* how many readers there have been */
	int			current;		/* slot that the reader writes */
	uint64		kept;			/* piece + 1 that the reader uses; 0 = none */
	int			closed;
	int			failed;
	uint64		next;			/* the first piece not yet offered */
	PieceSlot  *slots;
	char	   *data;
	pthread_mutex_t reader;		/* held by it, as long as it lives */
	pthread_mutex_t *lanes;		/* by each */
};

#define get(member) __atomic_load_n(&(member), __ATOMIC_ACQUIRE)
#define set(member, value) __atomic_store_n(&(member), value, __ATOMIC_RELEASE)

/* ----------
 * Slots of the dead
 * ----------
 */

/* Will nobody write into it any more? */
static bool
slot_is_still(PieceRing *ring, PieceSlot *slot)
{
	return get(slot->ended) || get(slot->epoch) != get(ring->epoch);
}

/* Nobody has what was taken: who could still use it?  The caller has seen. */
static bool
slot_recover(PieceSlot *slot, uint64 seen)
{
	bool		whole = !get(slot->wrapped) && get(slot->ended);

	return piece_slot_change(slot, seen, whole ? SLOT_OFFERED : SLOT_LOST, 0);
}

/* Is there a taker, and is it dead? */
static bool
taker_is_dead(PieceRing *ring, uint64 word)
{
	PieceSlotState state = piece_slot_state(word);

	return state == SLOT_ORPHAN ||
		((state == SLOT_TAKEN || state == SLOT_ALONE) &&
		 !robust_mutex_is_held(&ring->lanes[piece_slot_lane(word)]));
}

/* Give others what a dead taker had, unless the reader still writes it. */
static void
recover_dead(PieceRing *ring, PieceSlot *slot, int lane)
{
	uint64		word = get(slot->word);
	PieceSlotState state = piece_slot_state(word);

	if (state == SLOT_FREE || state == SLOT_OFFERED || state == SLOT_LOST ||
		(state != SLOT_ORPHAN && piece_slot_lane(word) == lane) ||
		!taker_is_dead(ring, word))
		return;
	if (state == SLOT_ALONE)
		(void) piece_slot_change(slot, word, SLOT_LOST, 0);
	else if (slot_is_still(ring, slot))
		(void) slot_recover(slot, word);
}

/* ----------
 * The ring
 * ----------
 */
PieceRing *
piece_ring_new(int n_lanes, int n_slots, size_t slot_bytes)
{
	PieceRing  *ring = shared_memory_new(1, sizeof(PieceRing));

	ring->n_lanes = n_lanes;
	ring->n_slots = n_slots;
	ring->slot_bytes = slot_bytes;
	ring->slots = shared_memory_new(n_slots, sizeof(PieceSlot));
	ring->data = shared_memory_new(n_slots, slot_bytes);
	ring->lanes = shared_memory_new(n_lanes, sizeof(pthread_mutex_t));
	robust_mutex_init(&ring->reader);
	for (int i = 0; i < n_lanes; i++)
		robust_mutex_init(&ring->lanes[i]);
	return ring;
}

void
piece_ring_join(PieceRing *ring, int lane)
{
	(void) robust_mutex_hold(&ring->lanes[lane], true);

	/* what one that died had as this lane would look as if it were taken */
	for (int i = 0; i < ring->n_slots; i++)
	{
		PieceSlot  *slot = &ring->slots[i];
		uint64		word = get(slot->word);
		PieceSlotState state = piece_slot_state(word);

		if (piece_slot_lane(word) != lane)
			continue;
		if (state == SLOT_ALONE)
			(void) piece_slot_change(slot, word, SLOT_LOST, 0);
		else if (state == SLOT_TAKEN)
			(void) piece_slot_change(slot, word, SLOT_ORPHAN, 0);
	}
}

void
piece_ring_leave(PieceRing *ring, int lane)
{
	pthread_mutex_unlock(&ring->lanes[lane]);
}

int
piece_ring_slots(const PieceRing *ring)
{
	return ring->n_slots;
}

void
piece_ring_discard(PieceRing *ring)
{
	shared_memory_discard(ring->data, ring->n_slots, ring->slot_bytes);
}

bool
piece_ring_closed(const PieceRing *ring)
{
	return get(ring->closed);
}

void
piece_ring_fail(PieceRing *ring)
{
	set(ring->failed, 1);
}

bool
piece_ring_failed(const PieceRing *ring)
{
	return get(ring->failed);
}

void
piece_ring_wait(void)
{
	pg_usleep(WAIT_US);
}

/* ----------
 * The reader
 * ----------
 */

/*
 * All pieces up to this one are with somebody, if not used up: no reader
 * offers them again.  By the reader and takers, as either may die.
 */
static void
advance(PieceRing *ring, uint64 piece)
{
	uint64		next = get(ring->next);

	while (next <= piece &&
		   !__atomic_compare_exchange_n(&ring->next, &next, piece + 1, false,
										__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		;
}

/* What the reader before could not end: the last piece that it offered. */
static void
take_over(PieceRing *ring)
{
	for (int i = 0; i < ring->n_slots; i++)
	{
		PieceSlot  *slot = &ring->slots[i];
		uint64		word = get(slot->word);

		switch (piece_slot_state(word))
		{
			case SLOT_FREE:
				break;
			case SLOT_OFFERED:
				if (get(slot->ended))
					advance(ring, slot->piece);
				else if (piece_slot_change(slot, word, SLOT_FREE, 0))
					set(ring->next, slot->piece);
				else
					advance(ring, slot->piece);
				break;
			case SLOT_TAKEN:
			case SLOT_ORPHAN:
			case SLOT_LOST:
			case SLOT_ALONE:
				advance(ring, slot->piece);
				break;
		}
	}
}

bool
piece_ring_lead(PieceRing *ring, uint64 *next)
{
	if (get(ring->closed) || !robust_mutex_hold(&ring->reader, false))
		return false;
	if (get(ring->closed))
	{
		pthread_mutex_unlock(&ring->reader);
		return false;
	}
	set(ring->epoch, ring->epoch + 1);
	take_over(ring);
	*next = get(ring->next);
	return true;
}

void
piece_ring_close(PieceRing *ring)
{
	set(ring->closed, 1);
	pthread_mutex_unlock(&ring->reader);
}

bool
piece_ring_has_others(PieceRing *ring, int lane)
{
	for (int i = 0; i < ring->n_lanes; i++)
		if (i != lane && robust_mutex_is_held(&ring->lanes[i]))
			return true;
	return false;
}

bool
piece_ring_offer(PieceRing *ring, uint64 piece)
{
	for (int i = 0; i < ring->n_slots; i++)
	{
		PieceSlot  *slot = &ring->slots[i];
		uint64		word = get(slot->word);

		if (piece_slot_state(word) != SLOT_FREE)
			continue;
		slot->piece = piece;
		set(slot->wrapped, 0);
		set(slot->ended, 0);
		set(slot->written, 0);
		set(slot->used, 0);
		set(slot->epoch, ring->epoch);
		ring->current = i;
		(void) piece_slot_change(slot, word, SLOT_OFFERED, 0);
		advance(ring, piece);
		return true;
	}
	return false;
}

void
piece_ring_keep(PieceRing *ring, uint64 piece)
{
	set(ring->kept, piece + 1);
}

void
piece_ring_pass(PieceRing *ring, uint64 piece)
{
	advance(ring, piece);
}

bool
piece_ring_was_kept(const PieceRing *ring, uint64 piece)
{
	return get(ring->kept) == piece + 1;
}

/*
 * Of the slot that is written, which is full: should the reader go on, now or
 * after a while?
 */
static bool
worth_waiting(PieceRing *ring, PieceSlot *slot, int lane)
{
	uint64		word = get(slot->word);

	switch (piece_slot_state(word))
	{
		case SLOT_FREE:
		case SLOT_LOST:
		case SLOT_ALONE:
			return false;
		case SLOT_OFFERED:
			/* nobody is there who could take it: the reader itself, alone */
			return piece_ring_has_others(ring, lane) ||
				!piece_slot_change(slot, word, SLOT_LOST, 0);
		case SLOT_TAKEN:
		case SLOT_ORPHAN:
			if (!taker_is_dead(ring, word))
				return true;
			if (get(slot->wrapped))
				return !slot_recover(slot, word);
			set(slot->used, 0);
			(void) piece_slot_change(slot, word, SLOT_OFFERED, 0);
			return true;
	}
	return false;
}

void
piece_ring_write(PieceRing *ring, int lane, const char *data, size_t len)
{
	PieceSlot  *slot = &ring->slots[ring->current];
	char	   *memory = ring->data + ring->slot_bytes * ring->current;

	while (len > 0)
	{
		uint64		written = slot->written;
		size_t		at = written % ring->slot_bytes;
		size_t		room = ring->slot_bytes -
			(size_t) Min(written - get(slot->used), ring->slot_bytes);
		size_t		part = Min(Min(len, room), ring->slot_bytes - at);

		if (part == 0)
		{
			if (get(ring->failed) || !worth_waiting(ring, slot, lane))
				return;
			piece_ring_wait();
			continue;
		}
		if (written >= ring->slot_bytes)
			set(slot->wrapped, 1);
		memcpy(memory + at, data, part);
		set(slot->written, written + part);
		data += part;
		len -= part;
	}
}

void
piece_ring_end(PieceRing *ring)
{
	set(ring->slots[ring->current].ended, 1);
}

/* ----------
 * Takers
 * ----------
 */
static bool
can_be_taken(PieceSlot *slot, uint64 word, bool ended_only)
{
	return piece_slot_state(word) == SLOT_LOST ||
		(piece_slot_state(word) == SLOT_OFFERED &&
		 (!ended_only || get(slot->ended)));
}

/* Take it, unless somebody else has done something with it. */
static bool
take_slot(PieceRing *ring, int lane, int i, uint64 seen, TakenPiece *taken)
{
	PieceSlot  *slot = &ring->slots[i];
	bool		alone = piece_slot_state(seen) == SLOT_LOST;

	if (!piece_slot_change(slot, seen, alone ? SLOT_ALONE : SLOT_TAKEN, lane))
		return false;
	memset(taken, 0, sizeof(TakenPiece));
	taken->piece = slot->piece;
	taken->again = piece_slot_again(seen);
	taken->alone = alone;
	taken->slot = i;
	advance(ring, slot->piece);
	return true;
}

/* The first piece: of a later one the reader may still be writing. */
bool
piece_ring_take(PieceRing *ring, int lane, bool ended_only, TakenPiece *taken)
{
	int			best;
	uint64		seen = 0;

	do
	{
		best = -1;
		for (int i = 0; i < ring->n_slots; i++)
		{
			PieceSlot  *slot = &ring->slots[i];
			uint64		word;

			recover_dead(ring, slot, lane);
			word = get(slot->word);
			if (can_be_taken(slot, word, ended_only) &&
				(best < 0 || slot->piece < ring->slots[best].piece))
			{
				best = i;
				seen = word;
			}
		}
	} while (best >= 0 && !take_slot(ring, lane, best, seen, taken));
	return best >= 0;
}

ssize_t
piece_ring_read(PieceRing *ring, TakenPiece *taken, const char **data)
{
	PieceSlot  *slot = &ring->slots[taken->slot];
	size_t		at;

	taken->position += taken->lent;
	taken->lent = 0;
	set(slot->used, taken->position);
	while (taken->position == get(slot->written))
	{
		/* asked first: a reader that is gone now may have ended it before */
		bool		gone = get(ring->failed) ||
			get(slot->epoch) != get(ring->epoch) ||
			!robust_mutex_is_held(&ring->reader);

		if (get(slot->ended))
		{
			if (taken->position == get(slot->written))
				return 0;
		}
		else if (gone && taken->position == get(slot->written))
			return -1;
		else
			piece_ring_wait();
	}
	at = taken->position % ring->slot_bytes;
	taken->lent = Min(get(slot->written) - taken->position,
					  Min(ring->slot_bytes - at, LEND_BYTES));
	*data = ring->data + ring->slot_bytes * taken->slot + at;
	return taken->lent;
}

void
piece_ring_release(PieceRing *ring, const TakenPiece *taken)
{
	PieceSlot  *slot = &ring->slots[taken->slot];

	(void) piece_slot_change(slot, get(slot->word), SLOT_FREE, 0);
}

void
piece_ring_give_back(PieceRing *ring, const TakenPiece *taken)
{
	PieceSlot  *slot = &ring->slots[taken->slot];

	(void) piece_slot_change(slot, get(slot->word), SLOT_LOST, 0);
}
