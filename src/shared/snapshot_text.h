/*
 * snapshot_text.h
 *		Reads the text of an exported snapshot, a file in pg_snapshots.
 *
 * The form is that of snapmgr.c:ExportSnapshot(): a line for each value,
 * "name:value", in this order:
 *
 *		vxid:5/12		the exporter's virtual transaction
 *		pid:4711		its process
 *		dbid:16384		the database it is connected to
 *		iso:2			its isolation level
 *		ro:1			whether its transaction is read only
 *		xmin:750		all transactions before this one have ended
 *		xmax:760		this one and later ones have not begun
 *		xcnt:1			how many lines "xip:" follow, of running transactions
 *		xip:751
 *		sof:0			whether the list of subtransactions has overflowed
 *		sxcnt:1			how many lines "sxp:" follow, of subtransactions
 *		sxp:752
 *		rec:0			whether the snapshot was taken during recovery
 *
 * A snapshot that was taken during recovery has all running transactions in
 * the lines "sxp:", and none in the lines "xip:".  If it has overflowed,
 * servers before the minor releases of November 2026 leave out "sxcnt:" and
 * "sxp:": an importer takes the running transactions for ended ones.  Later
 * servers write both lines then, too.
 */
#ifndef SNAPSHOT_TEXT_H
#define SNAPSHOT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The characters of an identifier of a snapshot, which is the file's name. */
#define SNAPSHOT_TEXT_ID_CHARS "0123456789ABCDEF-"
#define SNAPSHOT_TEXT_ID_BYTES 64

/* The lines that callers ask for; the pointers are into the text. */
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
 * Is this the identifier of a snapshot, and so the name of a file without a
 * path?
 */
extern bool snapshot_text_is_id(const char *id);

/*
 * Read a text of this length.  Returns NULL, or else the name of the line
 * that is missing or has another value than it may have, a constant.
 */
extern const char *snapshot_text_read(SnapshotText *snapshot,
									  const char *text, size_t length);

/*
 * The transaction IDs in n lines of a text that has been read, which begin
 * where its "xids" or "subxids" is.
 */
extern void snapshot_text_list(const char *lines, uint32_t n, uint32_t *list);

/* Are the transactions missing that were running when it was taken? */
extern bool snapshot_text_is_incomplete(const SnapshotText *snapshot);

#endif							/* SNAPSHOT_TEXT_H */
