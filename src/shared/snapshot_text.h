/*
 * snapshot_text.h
 *		Parses the text of an exported snapshot, a file in pg_snapshots.
 *
 * The extension reads snapshots of other databases with it before it adopts
 * them (function/snapshot_function.c).  The programs find out on a standby
 * whether a snapshot is incomplete (source/standby_overflow.c).
 *
 * snapmgr.c:ExportSnapshot() writes the text.  It has a line "name:value" for
 * each value, in this order:
 *
 *		vxid:5/12		the exporter's virtual transaction
 *		pid:4711		its process
 *		dbid:16384		the database it is connected to
 *		iso:2			its transaction's isolation level
 *		ro:1			whether its transaction is read only
 *		xmin:750		all transactions before this one have ended
 *		xmax:760		this one and later ones have not begun
 *		xcnt:1			number of lines "xip:" with running transactions
 *		xip:751
 *		sof:0			whether the list of subtransactions has overflowed
 *		sxcnt:1			number of lines "sxp:" with subtransactions
 *		sxp:752
 *		rec:0			whether the snapshot was taken during recovery
 *
 * A snapshot that was taken during recovery has all running transactions in
 * the lines "sxp:", and none in the lines "xip:".  If the list of such a
 * snapshot has overflowed, servers before the minor releases of November 2026
 * leave out the lines "sxcnt:" and "sxp:".  A session that imports this text
 * takes the running transactions for ended ones.  Later servers write the
 * lines in this case, too.
 */
#ifndef SNAPSHOT_TEXT_H
#define SNAPSHOT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The characters of an identifier of a snapshot, which is the file's name. */
#define SNAPSHOT_TEXT_ID_CHARS "0123456789ABCDEF-"
#define SNAPSHOT_TEXT_ID_BYTES 64

/* The values that callers need; the pointers are into the text. */
typedef struct SnapshotText
{
	uint32_t	xmin;
	uint32_t	xmax;
	uint32_t	n_xids;			/* transaction IDs in lines "xip:" */
	const char *xids;			/* the first of these lines */
	bool		overflowed;
	bool		has_subxids;	/* the text has a line "sxcnt:" */
	uint32_t	n_subxids;		/* transaction IDs in lines "sxp:" */
	const char *subxids;		/* the first of these lines */
	bool		in_recovery;
} SnapshotText;

/*
 * Is this the identifier of a snapshot?  It consists of a few characters
 * only, so as the name of a file it cannot contain a path.
 */
extern bool snapshot_text_is_id(const char *id);

/*
 * Parse a text of this length.  Returns NULL on success, or the name of the
 * first line that is missing or has a value that is not allowed.  The name is
 * a constant.
 */
extern const char *snapshot_text_read(SnapshotText *snapshot,
									  const char *text, size_t length);

/*
 * Write the transaction IDs of n lines to "list".  "lines" is "xids" or
 * "subxids" of a text that has been parsed.
 */
extern void snapshot_text_list(const char *lines, uint32_t n, uint32_t *list);

/*
 * Are the transactions missing from the text that were running when the
 * snapshot was taken?  This can only be so if it was taken in recovery.
 */
extern bool snapshot_text_is_incomplete(const SnapshotText *snapshot);

#endif							/* SNAPSHOT_TEXT_H */
