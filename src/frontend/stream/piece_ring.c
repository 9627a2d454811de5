/*
 * piece_ring.c
 *		Shares the pieces of one text among processes.
 *
 * Lanes
 * -----
 * A process holds the lock of its lane while it takes part, and the reader
 * holds the reader's lock as well.  These are robust mutexes, which the
 * kernel releases if their owner dies.  So every process can see whether a
 * lane is alive and whether there is a reader.  There are no other locks: a
 * process cannot die while others wait for it to leave a critical section.
 *
 * Slots
 * -----
 * The reader writes the pieces in their order, each into a free slot.  A lane
 * can take a piece as soon as the reader has begun it; it reads while the
 * reader writes.  A piece longer than the slot wraps around in it: the reader
 * waits until the taker has used the bytes that it is going to overwrite.
 * Only the reader writes into slots.
 *
 *		FREE		The slot has no piece.
 *		OFFERED		It has a piece, all or the beginning of it, to be taken.
 *		TAKEN		A lane reads the piece from the slot.
 *		ORPHAN		The same, but the taker has died, and another process has
 *					its lane now.
 *		LOST		The piece has to be read from the text once more, since
 *					the slot does not have all of it.
 *		ALONE		A lane does so, from the beginning of the text.
 *
 *		FREE -> OFFERED			The reader begins a piece.
 *		OFFERED -> TAKEN		A lane takes it,
 *		TAKEN -> FREE			and has used it up.
 *		LOST -> ALONE -> FREE	The same with a lost piece.
 *		TAKEN -> LOST			The reader died before it ended the piece.
 *		ALONE -> LOST			The text has an error, which ends it for all.
 *		TAKEN -> ORPHAN			A process joins, and its lane's last one died.
 *		TAKEN, ORPHAN -> OFFERED	The taker is dead, the slot has it all.
 *		TAKEN, ORPHAN -> LOST	The taker is dead, the slot has a part of it.
 *		ALONE -> LOST			The taker is dead.
 *		OFFERED -> LOST			The slot is full, and all other lanes are
 *								dead: nothing will make room in it.
 *		OFFERED -> FREE			The reader is dead, and its successor begins
 *								this piece from the start.
 *
 * One word of a slot has its state, the lane that has it, a flag, and the
 * number of changes.  It changes by compare and exchange with the word that
 * was seen before.  So if several processes find the same taker dead, one of
 * them acts; and none acts on a slot that has changed in between.
 *
 * Deaths
 * ------
 * A taker dies:
 *		If its slot has all of the piece, and nothing of it is overwritten,
 *		the next lane that looks for a piece offers it again.  If bytes are
 *		overwritten the piece is lost.  If the reader is still writing the
 *		piece, the others leave the slot alone: the reader decides the same
 *		when the slot is full, and the others when the piece has ended.
 *		The dead process may have used up the piece and died before the slot
 *		became free, so the next taker gets it with the flag "again".
 * A lane has a new process:
 *		The lane's lock is held again, so its slots would look as if they had
 *		a living taker.  A process therefore marks these when it joins.
 * The reader dies:
 *		Pieces that it has ended stay where they are.  The taker of the piece
 *		that it was writing sees it die, gives back what it has done, and the
 *		piece is lost.  The next lane that looks for a reader becomes one.  It
 *		increments the epoch, by which a taker knows a new reader from the one
 *		that has written its slot, and reads the text from the beginning up to
 *		the first piece that was not offered.
 * The reader dies with a piece that it uses itself:
 *		That piece has no slot.  ring->kept has its number, and its place for
 *		notes is the one behind those of the slots.  The next reader must use
 *		this piece itself, too, as only that place shows what became of it.
 * All die:
 *		The ring is in shared memory, which the parent process keeps.  The
 *		first process that joins becomes the reader.
 *
 * Several readings
 * ----------------
 * After a death, and for a lost piece, the text is read from its beginning
 * again.  If it can be another text then, as a command may return other bytes
 * than before, the caller compares the sums of the last reading with those of
 * the pieces that were used.  They are equal only if all used pieces are
 * those of the last reading.
 */
#include "base/fe_compat.h"

#include <sys/mman.h>

#include "base/shared_memory.h"
#include "base/units.h"
#include "shared/crc32c.h"
#include "stream/piece_ring.h"

#define WAIT_US 1000

/*
 * Lend at most this many bytes at a time, so that the slot gets room early.
 */
#define LEND_BYTES ((size_t) 256 * 1024)

/* This many lanes use pieces faster than one process can read them. */
#define MOST_SPARE_SLOTS 6

typedef enum PieceSlotState
{
	SLOT_FREE,
	SLOT_OFFERED,
	SLOT_TAKEN,
	SLOT_ORPHAN,
	SLOT_LOST,
	SLOT_ALONE
} PieceSlotState;

/* A slot, in shared memory.  If all bytes are zero, it is free. */
typedef struct PieceSlot
{
	uint64		word;			/* state, again, lane, number of changes */
	uint64		piece;
	uint32		epoch;			/* epoch of the reader that writes it */
	int			wrapped;		/* the first bytes of the piece are
								 * overwritten */
	int			ended;			/* all of the piece is written */
	uint64		written;		/* bytes that the reader has written */
	uint64		used;			/* bytes that the taker has used */
} PieceSlot;

/* The ring, in shared memory, as are its slots, their data, and the locks. */
struct PieceRing
{
	int			n_lanes;
	int			n_slots;
	size_t		slot_bytes;
	uint32		epoch;			/* the number of readers up to now */
	int			current;		/* slot that the reader writes */
	uint64		kept;			/* number + 1 of the piece that the reader
								 * uses without a slot; 0 = none */
	int			led;			/* there has been a reader */
	int			closed;			/* all pieces have been offered */
	int			failed;			/* the text has an error: all stop */
	uint64		next;			/* the first piece not yet offered */
	PieceSums	sums;			/* valid when it is closed */
	PieceSlot  *slots;
	char	   *data;
	pthread_mutex_t reader;
	pthread_mutex_t *lanes;
};

/* An open text, and its next bytes. */
typedef struct OpenText
{
	const PieceWork *work;
	void	   *text;
	TextPieces *pieces;
	const char *data;			/* borrowed from pieces */
	ssize_t		len;			/* 0 = end of the text, -1 = error */
	uint64		piece;			/* the piece of these bytes */
	pg_crc32c	crc;			/* CRC of this piece up to here */
	pg_crc32c	crc_before;		/* CRC of the piece before it */
	PieceSums	sums;			/* sums of all pieces before it */
} OpenText;

/* A process that takes part. */
typedef struct Lane
{
	PieceRing  *ring;
	int			no;
	const PieceWork *work;
} Lane;

#define get(member) __atomic_load_n(&(member), __ATOMIC_ACQUIRE)
#define set(member, value) __atomic_store_n(&(member), value, __ATOMIC_RELEASE)

/* ----------
 * The word of a slot: 32 bits of changes, 24 of the lane, "again", 7 of state
 * ----------
 */
#define WORD_AGAIN 0x80

static PieceSlotState
word_state(uint64 word)
{
	return (PieceSlotState) (word & 0x7F);
}

static int
word_lane(uint64 word)
{
	return (int) ((word >> 8) & 0xFFFFFF);
}

/*
 * Change the state, if the word is still the one that was seen.  If a lane
 * has had the piece, it stays "again" until its slot is free.
 */
static bool
slot_change(PieceSlot *slot, uint64 seen, PieceSlotState state, int lane)
{
	uint64		word = (((seen >> 32) + 1) << 32) | ((uint64) lane << 8) | state;
	PieceSlotState before = word_state(seen);

	if (state != SLOT_FREE &&
		((seen & WORD_AGAIN) || before == SLOT_TAKEN ||
		 before == SLOT_ORPHAN || before == SLOT_ALONE))
		word |= WORD_AGAIN;
	return __atomic_compare_exchange_n(&slot->word, &seen, word, false,
									   __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

/* ----------
 * The ring
 * ----------
 */
int
piece_ring_slots(int n_lanes)
{
	return n_lanes + Min(n_lanes, MOST_SPARE_SLOTS);
}

PieceRing *
piece_ring_new(int n_lanes, int n_slots, size_t slot_bytes)
{
	PieceRing  *ring = shared_memory_new(1, sizeof(PieceRing));
	const char *size = units_size(n_slots * slot_bytes);

	ring->n_lanes = n_lanes;
	ring->n_slots = n_slots;
	ring->slot_bytes = slot_bytes;
	ring->slots = shared_memory_new(n_slots, sizeof(PieceSlot));
	ring->data = shared_memory_try(n_slots * slot_bytes, 1);
	if (ring->data == NULL)
	{
		pg_log_error("could not map %s of shared memory for pieces of a table: %m",
					 size);
		pg_fatal_hint("Use a smaller number for --jobs, or a smaller --chunk-size.");
	}
	ring->lanes = shared_memory_new(n_lanes, sizeof(pthread_mutex_t));
	robust_mutex_init(&ring->reader);
	for (int i = 0; i < n_lanes; i++)
		robust_mutex_init(&ring->lanes[i]);
	return ring;
}

void
piece_ring_discard(PieceRing *ring)
{
	/*
	 * Frees the pages for all processes that share them, where the system can
	 * do that; MADV_DONTNEED would only drop them from this process.
	 */
	(void) madvise(ring->data, ring->n_slots * ring->slot_bytes, MADV_REMOVE);
}

bool
piece_ring_is_used(PieceRing *ring)
{
	for (int i = 0; i < ring->n_lanes; i++)
		if (robust_mutex_is_held(&ring->lanes[i]))
			return true;
	return false;
}

bool
piece_ring_is_led(PieceRing *ring)
{
	return get(ring->led) != 0;
}

bool
piece_ring_is_done(PieceRing *ring)
{
	/* a lane that joins now finds no piece */
	if (!get(ring->closed) || piece_ring_is_used(ring))
		return false;
	for (int i = 0; i < ring->n_slots; i++)
		if (word_state(get(ring->slots[i].word)) != SLOT_FREE)
			return false;
	return true;
}

PieceSums
piece_ring_sums(const PieceRing *ring)
{
	return ring->sums;
}

void
piece_ring_restart(PieceRing *ring)
{
	/*
	 * After an error in the text, some slots are not free.  A process that
	 * joins now, and will leave at once, may change a slot of a dead process
	 * meanwhile.
	 */
	for (int i = 0; i < ring->n_slots; i++)
		while (!slot_change(&ring->slots[i], get(ring->slots[i].word), SLOT_FREE, 0))
			;
	set(ring->kept, 0);
	set(ring->led, 0);
	set(ring->failed, 0);
	set(ring->next, 0);
	set(ring->closed, 0);
}

static void
ring_join(const Lane *lane)
{
	PieceRing  *ring = lane->ring;

	(void) robust_mutex_hold(&ring->lanes[lane->no], true);
	/* these slots belong to the lane's last process, which has died */
	for (int i = 0; i < ring->n_slots; i++)
	{
		PieceSlot  *slot = &ring->slots[i];
		uint64		word = get(slot->word);
		PieceSlotState state = word_state(word);

		if (word_lane(word) != lane->no)
			continue;
		if (state == SLOT_ALONE)
			(void) slot_change(slot, word, SLOT_LOST, 0);
		else if (state == SLOT_TAKEN)
			(void) slot_change(slot, word, SLOT_ORPHAN, 0);
	}
}

static bool
has_others(const Lane *lane)
{
	for (int i = 0; i < lane->ring->n_lanes; i++)
		if (i != lane->no && robust_mutex_is_held(&lane->ring->lanes[i]))
			return true;
	return false;
}

/*
 * Note that no reader has to offer the pieces up to this one.  Both the
 * reader and takers do that, as either may die before it does.
 */
static void
ring_advance(PieceRing *ring, uint64 piece)
{
	uint64		next = get(ring->next);

	while (next <= piece &&
		   !__atomic_compare_exchange_n(&ring->next, &next, piece + 1, false,
										__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		;
}

/* ----------
 * Slots of dead takers
 * ----------
 */
static bool
taker_is_dead(PieceRing *ring, uint64 word)
{
	PieceSlotState state = word_state(word);

	return state == SLOT_ORPHAN ||
		((state == SLOT_TAKEN || state == SLOT_ALONE) &&
		 !robust_mutex_is_held(&ring->lanes[word_lane(word)]));
}

/*
 * The taker is dead, and the slot does not change: offer the piece again if
 * the slot has all of it, otherwise the piece is lost.
 */
static bool
slot_recover(PieceSlot *slot, uint64 seen)
{
	bool		complete = !get(slot->wrapped) && get(slot->ended);

	return slot_change(slot, seen, complete ? SLOT_OFFERED : SLOT_LOST, 0);
}

/* Recover the slot of a dead taker, unless the reader still writes it. */
static void
recover_dead(const Lane *lane, PieceSlot *slot)
{
	uint64		word = get(slot->word);
	PieceSlotState state = word_state(word);

	if (state == SLOT_FREE || state == SLOT_OFFERED || state == SLOT_LOST ||
		(state != SLOT_ORPHAN && word_lane(word) == lane->no) ||
		!taker_is_dead(lane->ring, word))
		return;
	if (state == SLOT_ALONE)
		(void) slot_change(slot, word, SLOT_LOST, 0);
	/* no reader can write into the slot any more */
	else if (get(slot->ended) || get(slot->epoch) != get(lane->ring->epoch))
		(void) slot_recover(slot, word);
}

/* ----------
 * The reader's side of slots
 * ----------
 */

/*
 * Find the first piece that is left to offer.  The last reader may have died
 * before it ended one, or before it noted that it had offered one.
 */
static void
ring_take_over(PieceRing *ring)
{
	for (int i = 0; i < ring->n_slots; i++)
	{
		PieceSlot  *slot = &ring->slots[i];
		uint64		word = get(slot->word);

		switch (word_state(word))
		{
			case SLOT_FREE:
				break;
			case SLOT_OFFERED:
				if (get(slot->ended))
					ring_advance(ring, slot->piece);
				else if (slot_change(slot, word, SLOT_FREE, 0))
					set(ring->next, slot->piece);
				else
					ring_advance(ring, slot->piece);
				break;
			case SLOT_TAKEN:
			case SLOT_ORPHAN:
			case SLOT_LOST:
			case SLOT_ALONE:
				ring_advance(ring, slot->piece);
				break;
		}
	}
}

/*
 * Become the reader, unless there is one, or the ring is closed.  Sets the
 * first piece that is left to offer.
 */
static bool
ring_lead(PieceRing *ring, uint64 *next)
{
	if (get(ring->closed) || !robust_mutex_hold(&ring->reader, false))
		return false;
	if (get(ring->closed))
	{
		pthread_mutex_unlock(&ring->reader);
		return false;
	}
	set(ring->epoch, ring->epoch + 1);
	set(ring->led, 1);
	ring_take_over(ring);
	*next = get(ring->next);
	return true;
}

/* Begin a piece in a free slot.  False if there is no free slot. */
static bool
slot_offer(PieceRing *ring, uint64 piece)
{
	for (int i = 0; i < ring->n_slots; i++)
	{
		PieceSlot  *slot = &ring->slots[i];
		uint64		word = get(slot->word);

		if (word_state(word) != SLOT_FREE)
			continue;
		slot->piece = piece;
		set(slot->wrapped, 0);
		set(slot->ended, 0);
		set(slot->written, 0);
		set(slot->used, 0);
		set(slot->epoch, ring->epoch);
		ring->current = i;
		(void) slot_change(slot, word, SLOT_OFFERED, 0);
		ring_advance(ring, piece);
		return true;
	}
	return false;
}

/* The slot that the reader writes is full.  Will it get room? */
static bool
worth_waiting(const Lane *lane, PieceSlot *slot)
{
	PieceRing  *ring = lane->ring;
	uint64		word = get(slot->word);

	switch (word_state(word))
	{
		case SLOT_FREE:			/* its taker does not want the rest */
		case SLOT_LOST:
		case SLOT_ALONE:
			return false;
		case SLOT_OFFERED:
			return has_others(lane) || !slot_change(slot, word, SLOT_LOST, 0);
		case SLOT_TAKEN:
		case SLOT_ORPHAN:
			if (!taker_is_dead(ring, word))
				return true;
			if (get(slot->wrapped))
				return !slot_recover(slot, word);
			/* the slot has all written bytes: offer it to another taker */
			set(slot->used, 0);
			(void) slot_change(slot, word, SLOT_OFFERED, 0);
			return true;
	}
	return false;
}

/*
 * Write the next bytes of the piece.  Waits for room, and writes nothing if
 * there will be none.
 */
static void
slot_write(const Lane *lane, const char *data, size_t len)
{
	PieceRing  *ring = lane->ring;
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
			if (get(ring->failed) || !worth_waiting(lane, slot))
				return;
			pg_usleep(WAIT_US);
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

/* ----------
 * The takers' side of slots; the reader may be a taker, too
 * ----------
 */
/* Take the piece of slot i, unless the slot has changed. */
static bool
slot_take(const Lane *lane, int i, uint64 seen, SharedPiece *piece)
{
	PieceSlot  *slot = &lane->ring->slots[i];
	bool		alone = word_state(seen) == SLOT_LOST;

	if (!slot_change(slot, seen, alone ? SLOT_ALONE : SLOT_TAKEN, lane->no))
		return false;
	memset(piece, 0, sizeof(SharedPiece));
	piece->number = slot->piece;
	piece->again = (seen & WORD_AGAIN) != 0;
	piece->alone = alone;
	piece->slot = i;
	piece->ring = lane->ring;
	ring_advance(lane->ring, slot->piece);
	return true;
}

/*
 * Take the piece with the lowest number, because the reader may still be
 * writing a later one.  The reader itself takes only pieces that have ended.
 * Returns false if there is none now.
 */
static bool
ring_take(const Lane *lane, bool ended_only, SharedPiece *piece)
{
	PieceRing  *ring = lane->ring;
	int			best;
	uint64		seen = 0;

	do
	{
		best = -1;
		for (int i = 0; i < ring->n_slots; i++)
		{
			PieceSlot  *slot = &ring->slots[i];
			uint64		word;

			recover_dead(lane, slot);
			word = get(slot->word);
			if ((word_state(word) == SLOT_LOST ||
				 (word_state(word) == SLOT_OFFERED &&
				  (!ended_only || get(slot->ended)))) &&
				(best < 0 || slot->piece < ring->slots[best].piece))
			{
				best = i;
				seen = word;
			}
		}
	} while (best >= 0 && !slot_take(lane, best, seen, piece));
	return best >= 0;
}

/* shared_piece_next() for a piece in a slot. */
static ssize_t
slot_read(SharedPiece *piece, const char **data)
{
	PieceRing  *ring = piece->ring;
	PieceSlot  *slot = &ring->slots[piece->slot];
	size_t		at;

	piece->position += piece->lent;
	piece->lent = 0;
	set(slot->used, piece->position);
	while (piece->position == get(slot->written))
	{
		/*
		 * Will nothing more be written into the slot?  Check this before
		 * slot->ended, because a reader may end a piece just before it dies.
		 */
		bool		gone = get(ring->failed) ||
			get(slot->epoch) != get(ring->epoch) ||
			!robust_mutex_is_held(&ring->reader);

		if (get(slot->ended))
		{
			if (piece->position == get(slot->written))
				return 0;
		}
		else if (gone && piece->position == get(slot->written))
			return -1;
		else
			pg_usleep(WAIT_US);
	}
	at = piece->position % ring->slot_bytes;
	piece->lent = Min(get(slot->written) - piece->position,
					  Min(ring->slot_bytes - at, LEND_BYTES));
	*data = ring->data + ring->slot_bytes * piece->slot + at;
	return piece->lent;
}

/* The taker has used up the piece, or the rest of the piece is lost. */
static void
slot_release(const SharedPiece *piece, bool used)
{
	PieceSlot  *slot = &piece->ring->slots[piece->slot];

	(void) slot_change(slot, get(slot->word), used ? SLOT_FREE : SLOT_LOST, 0);
}

/* ----------
 * Texts
 * ----------
 */

/* Add a piece that was read completely to the sums. */
static void
text_end_piece(OpenText *text)
{
	FIN_CRC32C(text->crc);
	text->crc_before = text->crc;
	text->sums.n++;
	text->sums.crcs += text->crc;
	INIT_CRC32C(text->crc);
}

static void
text_next(OpenText *text)
{
	bool		in_piece = text->len > 0;
	uint64		piece = text->piece;

	text->len = text_pieces_next(text->pieces, &text->data, &text->piece);
	if (text->work->compare == NULL || text->len < 0)
		return;
	if (in_piece && (text->len == 0 || text->piece != piece))
		text_end_piece(text);
	text->crc = crc32c_add(text->crc, text->data, text->len);
}

/* Continue to the first piece with this number or a higher one. */
static void
text_skip(OpenText *text, uint64 piece)
{
	do
		text_next(text);
	while (text->len > 0 && text->piece < piece);
}

static void
text_open(OpenText *text, const Lane *lane, uint64 first_piece)
{
	memset(text, 0, sizeof(OpenText));
	text->work = lane->work;
	text->text = lane->work->open(lane->work->arg);
	text->len = -1;
	INIT_CRC32C(text->crc);
	if (text->text == NULL)
		return;
	text->pieces = text_pieces_new(lane->work->read, text->text,
								   lane->work->range_bytes);
	text_skip(text, first_piece);
}

/* Close the text.  An error in it ends the work of all lanes. */
static void
text_close(OpenText *text, const Lane *lane)
{
	if (text->len < 0)
	{
		if (text->pieces && text_pieces_error(text->pieces))
			lane->work->report(lane->work->arg, text_pieces_error(text->pieces));
		set(lane->ring->failed, 1);
	}
	if (text->pieces)
		text_pieces_free(text->pieces);
	if (text->text)
		text->work->close(text->text);
}

/* shared_piece_next() for the current piece of a text. */
static ssize_t
text_read(SharedPiece *piece, const char **data)
{
	OpenText   *text = piece->text;
	bool		in_piece;

	if (piece->lent)
		text_next(text);
	in_piece = text->len > 0 && text->piece == piece->number;
	piece->lent = in_piece ? text->len : 0;
	*data = text->data;
	return in_piece || text->len < 0 ? text->len : 0;
}

/* ----------
 * Using pieces
 * ----------
 */
ssize_t
shared_piece_next(SharedPiece *piece, const char **data)
{
	return piece->text ? text_read(piece, data) : slot_read(piece, data);
}

/*
 * Use the current piece of its text, and continue to the next one.  If the
 * rest of the piece is lost, the text has an error.
 */
static bool
use_from_text(const Lane *lane, SharedPiece *piece)
{
	OpenText   *text = piece->text;
	bool		used = lane->work->use(lane->work->arg, piece);

	if (!used)
		set(lane->ring->failed, 1);
	else if (text->len > 0 && text->piece == piece->number)
		text_skip(text, piece->number + 1);
	return used;
}

/* Use a lost piece, from a text that only this lane reads. */
static bool
use_alone(const Lane *lane, SharedPiece *piece)
{
	OpenText	text;
	bool		used = false;

	text_open(&text, lane, piece->number);
	piece->text = &text;
	if (text.len > 0 && text.piece == piece->number)
		used = use_from_text(lane, piece);
	else if (text.len >= 0)
	{
		lane->work->report(lane->work->arg, "its data changed while it was read");
		set(lane->ring->failed, 1);
	}
	text_close(&text, lane);
	return used;
}

/* Take a piece and use it, if there is one. */
static bool
use_from_ring(const Lane *lane, bool ended_only)
{
	SharedPiece piece;

	if (!ring_take(lane, ended_only, &piece))
		return false;
	if (piece.alone)
		slot_release(&piece, use_alone(lane, &piece));
	else
		slot_release(&piece, lane->work->use(lane->work->arg, &piece));
	return true;
}

/* ----------
 * The reader
 * ----------
 */

/* Write the text's current piece into the slot that was begun for it. */
static void
hand_over(const Lane *lane, OpenText *text)
{
	uint64		piece = text->piece;

	while (text->len > 0 && text->piece == piece)
	{
		slot_write(lane, text->data, text->len);
		text_next(text);
	}
	if (text->len >= 0)
		set(lane->ring->slots[lane->ring->current].ended, 1);
}

/* Did a dead reader use this piece itself? */
static bool
ring_was_kept(const PieceRing *ring, uint64 piece)
{
	return get(ring->kept) == piece + 1;
}

/* Use the text's current piece without a slot. */
static void
keep_piece(const Lane *lane, OpenText *text)
{
	PieceRing  *ring = lane->ring;
	SharedPiece piece = {
		.number = text->piece,
		.again = ring_was_kept(ring, text->piece),
		.slot = ring->n_slots,
		.ring = ring,
		.text = text,
	};

	set(ring->kept, piece.number + 1);
	if (use_from_text(lane, &piece))
		ring_advance(ring, piece.number);
}

/* Skip the current piece, which an earlier run has used up. */
static void
skip_done(const Lane *lane, OpenText *text)
{
	uint64		piece = text->piece;

	text_skip(text, piece + 1);
	if (lane->work->compare && text->len >= 0)
		lane->work->compare(lane->work->arg, piece, text->crc_before);
}

static void
read_and_share(const Lane *lane, uint64 first_piece)
{
	const PieceWork *work = lane->work;
	PieceRing  *ring = lane->ring;
	OpenText	text;

	text_open(&text, lane, first_piece);
	while (text.len > 0 && !get(ring->failed))
	{
		uint64		piece = text.piece;

		if (work->is_done && work->is_done(work->arg, piece))
			skip_done(lane, &text);
		else if (ring_was_kept(ring, piece) || !has_others(lane))
			keep_piece(lane, &text);
		else if (slot_offer(ring, piece))
			hand_over(lane, &text);
		else if (!use_from_ring(lane, true))
			pg_usleep(WAIT_US);
	}
	ring->sums = text.sums;
	text_close(&text, lane);
	set(ring->closed, 1);
	pthread_mutex_unlock(&ring->reader);
}

bool
piece_ring_run(PieceRing *ring, int lane_no, const PieceWork *work)
{
	Lane		lane = {ring, lane_no, work};
	uint64		first_piece;

	ring_join(&lane);
	if (work->begin && !work->begin(work->arg))
	{
		pthread_mutex_unlock(&ring->lanes[lane_no]);
		return false;
	}
	while (!get(ring->failed))
	{
		/* read this first: a piece may be offered just before it is set */
		bool		closed = get(ring->closed);

		if (ring_lead(ring, &first_piece))
			read_and_share(&lane, first_piece);
		else if (use_from_ring(&lane, false))
			continue;
		else if (closed)
			break;
		else
			pg_usleep(WAIT_US);
	}
	pthread_mutex_unlock(&ring->lanes[lane_no]);
	return !get(ring->failed);
}
