/*
 * piece_ring.h
 *		Shares the pieces of one text among processes.
 *
 * Each process that takes part has a lane, a number from 0 on, and calls
 * piece_ring_run().  The first of them becomes the reader: it reads the text,
 * cuts it into pieces (text_pieces.h), and hands the pieces to the other
 * processes through slots in shared memory.  While all slots are full, the
 * reader uses pieces itself.  If no other process takes part, the reader uses
 * all pieces itself, directly from the text.
 *
 * Processes may begin to take part at any time.  Any of them may die at any
 * time, also by SIGKILL, and be replaced by a process that calls
 * piece_ring_run() with the same lane or another free one: no piece is lost,
 * and no process waits for a dead one.  piece_ring.c has the protocol.
 */
#ifndef PIECE_RING_H
#define PIECE_RING_H

#include "port/pg_crc32c.h"

#include "stream/text_pieces.h"

typedef struct PieceRing PieceRing;

/*
 * The number of pieces, and the sum of their CRC-32Cs, which does not depend
 * on the order.  If a piece differs, so does the sum.
 */
typedef struct PieceSums
{
	uint64		n;
	uint64		crcs;			/* sum of the CRC-32C of each piece */
} PieceSums;

/*
 * A piece in use(); its bytes come from a slot, or from a text.  The slot,
 * from 0 to the number of the ring's slots, is a place for notes in shared
 * memory of what has become of a piece: a piece that is not used up keeps it
 * if another process takes it.
 */
typedef struct SharedPiece
{
	uint64		number;
	bool		again;			/* another process may have used it up
								 * already, and died before it could say so */
	bool		alone;			/* it was lost, and is read from the text
								 * again */
	int			slot;			/* n_slots for a piece without a slot */

	/* for the ring only */
	PieceRing  *ring;
	struct OpenText *text;		/* NULL: the bytes are in the slot */
	uint64		position;		/* bytes of the slot that were read */
	size_t		lent;			/* bytes that are lent to the caller */
} SharedPiece;

/* The callbacks of piece_ring_run(); arg is passed to each of them. */
typedef struct PieceWork
{
	void	   *arg;
	uint64		range_bytes;	/* the same in all processes and runs */

	/*
	 * Called after the process has begun to take part.  Returns false if it
	 * must leave.  NULL: it always stays.
	 */
	bool		(*begin) (void *arg);

	/*
	 * Open the text at its beginning, read it, and close it.  One process may
	 * have more than one text open.  NULL from open(), or -1 from read(), is
	 * an error, which the callback has reported.
	 */
	void	   *(*open) (void *arg);
	TextReadCallback read;		/* gets the result of open() */
	void		(*close) (void *text);

	/* Did an earlier run use up this piece?  NULL: there was none. */
	bool		(*is_done) (void *arg, uint64 piece);

	/*
	 * Called when the reader has read all of a piece for which is_done()
	 * returned true, with the piece's CRC-32C.  Ends the process if an
	 * earlier run used up another text.  NULL: no CRC is computed.
	 */
	void		(*compare) (void *arg, uint64 piece, pg_crc32c crc);

	/*
	 * Use a piece, which shared_piece_next() reads.  Return false if that
	 * returned -1: then the piece must be as unused as before.  Return true
	 * if nothing of the piece is left to do, even if not all of it was read.
	 */
	bool		(*use) (void *arg, SharedPiece *piece);

	/* Report what is wrong with the text. */
	void		(*report) (void *arg, const char *problem);
} PieceWork;

/*
 * The number of slots that keeps n_lanes processes busy while the reader uses
 * a piece itself.
 */
extern int	piece_ring_slots(int n_lanes);

/*
 * Make a ring of n_slots slots, each of slot_bytes bytes, for lanes 0 to
 * n_lanes - 1, before the processes are forked.  It is never freed; a slot
 * takes up memory from its first use on.  Exits with a message if there is
 * not enough room.
 */
extern PieceRing *piece_ring_new(int n_lanes, int n_slots, size_t slot_bytes);

/*
 * Are all pieces used up, and does no process take part?  If so, no process
 * that died has a piece, either.
 */
extern bool piece_ring_is_done(PieceRing *ring);

/*
 * The sums of all pieces of the text, as the reader that came to its end has
 * read them: pieces that any process used, and pieces that were done before.
 * Valid if all pieces have been offered, and PieceWork has compare().
 */
extern PieceSums piece_ring_sums(const PieceRing *ring);

/*
 * Does any process take part?  The second function: has any process begun to
 * read the text?
 */
extern bool piece_ring_is_used(PieceRing *ring);
extern bool piece_ring_is_led(PieceRing *ring);

/*
 * Use the ring for another text.  No process may take part, and any that
 * begins to must leave (begin()).
 */
extern void piece_ring_restart(PieceRing *ring);

/*
 * Give back the memory of the slots: no slot may have a piece.  A ring that
 * is restarted gets new memory as it is used.
 */
extern void piece_ring_discard(PieceRing *ring);

/*
 * Take part as this lane until no piece is left to take.  Pieces that other
 * processes have taken may still be in use by then: if such a process dies,
 * the process that replaces it finds its piece.  False if the text has an
 * error, which one of the processes has reported: then some pieces may have
 * been used.
 */
extern bool piece_ring_run(PieceRing *ring, int lane, const PieceWork *work);

/*
 * Lend the next bytes of the piece until the next call.  Waits for them.
 * Returns their number, 0 at the end of the piece, or -1 if the rest of the
 * piece is lost.  All bytes together are whole lines.
 */
extern ssize_t shared_piece_next(SharedPiece *piece, const char **data);

#endif							/* PIECE_RING_H */
