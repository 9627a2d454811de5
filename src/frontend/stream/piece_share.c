/*
 * piece_share.c
 *		Several processes share the pieces of one text.
 */
#include "base/fe_compat.h"

#include "stream/piece_share.h"

/* A text that is being read, and what comes next in it. */
typedef struct OpenText
{
	const PieceWork *work;
	void	   *text;
	TextPieces *pieces;
	const char *data;			/* not used yet, borrowed from pieces */
	ssize_t		len;			/* 0 = none is left, -1 = error */
	uint64		piece;			/* that they are of */
} OpenText;

/* A piece comes from the ring, or else from a text of this process's own. */
struct SharedPiece
{
	PieceRing  *ring;
	TakenPiece	taken;			/* with text set, nothing is read by it */
	OpenText   *text;
	bool		lent;			/* the text's data are with the caller */
};

typedef struct Lane
{
	PieceRing  *ring;
	int			no;
	const PieceWork *work;
} Lane;

/* Beyond so many processes they use pieces faster than one can read them. */
#define MOST_SPARE_SLOTS 6

int
piece_share_slots(int n_lanes)
{
	return n_lanes + Min(n_lanes, MOST_SPARE_SLOTS);
}

/* ----------
 * A text of one's own
 * ----------
 */

/* Tell an error, which is the end of it for all. */
static void
note_error(const Lane *lane, const OpenText *text)
{
	if (text->len >= 0)
		return;
	if (text->pieces && text_pieces_error(text->pieces))
		lane->work->tell(lane->work->arg, text_pieces_error(text->pieces));
	piece_ring_fail(lane->ring);
}

/* To the first piece from this number on. */
static void
text_skip(OpenText *text, uint64 piece)
{
	text->piece = piece;
	text->len = text_pieces_skip(text->pieces, &text->data, &text->piece);
}

static void
text_open(OpenText *text, const Lane *lane, uint64 first_piece)
{
	memset(text, 0, sizeof(OpenText));
	text->work = lane->work;
	text->text = lane->work->open(lane->work->arg);
	text->len = -1;
	if (text->text == NULL)
		return;
	text->pieces = text_pieces_new(lane->work->read, text->text,
								   lane->work->range_bytes);
	text_skip(text, first_piece);
}

static void
text_close(OpenText *text)
{
	if (text->pieces)
		text_pieces_free(text->pieces);
	if (text->text)
		text->work->close(text->text);
}

static void
text_next(OpenText *text)
{
	text->len = text_pieces_next(text->pieces, &text->data, &text->piece);
}

/* ----------
 * A piece
 * ----------
 */
uint64
piece_share_number(const SharedPiece *piece)
{
	return piece->taken.piece;
}

bool
piece_share_again(const SharedPiece *piece)
{
	return piece->taken.again;
}

ssize_t
piece_share_next(SharedPiece *piece, const char **data)
{
	OpenText   *text = piece->text;

	if (text == NULL)
		return piece_ring_read(piece->ring, &piece->taken, data);
	if (piece->lent)
		text_next(text);
	piece->lent = text->len > 0 && text->piece == piece->taken.piece;
	*data = text->data;
	return piece->lent || text->len < 0 ? text->len : 0;
}

int
piece_share_place(const SharedPiece *piece)
{
	return piece->taken.slot;
}

/*
 * Use the piece that a text has come to, and leave the text behind it.  If it
 * cannot be used, neither can the text.
 */
static bool
use_from_text(const Lane *lane, OpenText *text, const TakenPiece *taken)
{
	SharedPiece piece = {.ring = lane->ring,.taken = *taken,.text = text};
	bool		used;

	used = lane->work->use(lane->work->arg, &piece);
	if (!used)
		piece_ring_fail(lane->ring);
	else if (text->len > 0 && text->piece == piece.taken.piece)
		text_skip(text, piece.taken.piece + 1);
	return used;
}

/* What the ring has lost: the text is read up to it, and used from there. */
static void
use_alone(const Lane *lane, const TakenPiece *taken)
{
	OpenText	text;
	bool		used = false;

	text_open(&text, lane, taken->piece);
	if (text.len > 0 && text.piece == taken->piece)
		used = use_from_text(lane, &text, taken);
	else if (text.len >= 0)
	{
		lane->work->tell(lane->work->arg, "its data have changed");
		piece_ring_fail(lane->ring);
	}
	note_error(lane, &text);
	text_close(&text);
	if (used)
		piece_ring_release(lane->ring, taken);
	else
		piece_ring_give_back(lane->ring, taken);
}

/* Take a piece and use it, if there is one. */
static bool
use_from_ring(const Lane *lane, bool ended_only)
{
	SharedPiece piece = {.ring = lane->ring};

	if (!piece_ring_take(lane->ring, lane->no, ended_only, &piece.taken))
		return false;
	if (piece.taken.alone)
		use_alone(lane, &piece.taken);
	else if (lane->work->use(lane->work->arg, &piece))
		piece_ring_release(lane->ring, &piece.taken);
	else
		piece_ring_give_back(lane->ring, &piece.taken);
	return true;
}

/* ----------
 * The reader
 * ----------
 */

/* Write the piece that the text has come to into the slot begun for it. */
static void
hand_over(const Lane *lane, OpenText *text)
{
	uint64		piece = text->piece;

	while (text->len > 0 && text->piece == piece)
	{
		piece_ring_write(lane->ring, lane->no, text->data, text->len);
		text_next(text);
	}
	if (text->len >= 0)
		piece_ring_end(lane->ring);
}

/* Use the piece that the text has come to here, without a slot. */
static void
keep(const Lane *lane, OpenText *text)
{
	TakenPiece	taken = {.piece = text->piece,
		.again = piece_ring_was_kept(lane->ring, text->piece),
	.slot = piece_ring_slots(lane->ring)};

	piece_ring_keep(lane->ring, taken.piece);
	if (use_from_text(lane, text, &taken))
		piece_ring_pass(lane->ring, taken.piece);
}

static void
read_and_share(const Lane *lane, uint64 first_piece)
{
	const PieceWork *work = lane->work;
	PieceRing  *ring = lane->ring;
	OpenText	text;

	text_open(&text, lane, first_piece);
	while (text.len > 0 && !piece_ring_failed(ring))
	{
		uint64		piece = text.piece;

		if (work->is_done && work->is_done(work->arg, piece))
			text_skip(&text, piece + 1);
		else if (piece_ring_was_kept(ring, piece) ||
				 !piece_ring_has_others(ring, lane->no))
			keep(lane, &text);
		else if (piece_ring_offer(ring, piece))
			hand_over(lane, &text);
		else if (!use_from_ring(lane, true))
			piece_ring_wait();
	}
	note_error(lane, &text);
	text_close(&text);
	piece_ring_close(ring);
}

bool
piece_share_run(PieceRing *ring, int lane_no, const PieceWork *work)
{
	Lane		lane = {ring, lane_no, work};
	uint64		first_piece;

	piece_ring_join(ring, lane_no);
	while (!piece_ring_failed(ring))
	{
		bool		closed = piece_ring_closed(ring);

		if (piece_ring_lead(ring, &first_piece))
			read_and_share(&lane, first_piece);
		else if (use_from_ring(&lane, false))
			continue;
		else if (closed)
			break;
		else
			piece_ring_wait();
	}
	piece_ring_leave(ring, lane_no);
	return !piece_ring_failed(ring);
}
