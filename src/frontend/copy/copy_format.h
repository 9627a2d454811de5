/*
 * copy_format.h
 *		Decides in which format each table of a direct copy is transferred:
 *		text, binary, or raw tuples.
 */
#ifndef COPY_FORMAT_H
#define COPY_FORMAT_H

#include "load/target.h"

/* The formats, as --copy-format and messages name them. */
typedef enum CopyFormatKind
{
	COPY_FORMAT_TEXT,			/* COPY's text format */
	COPY_FORMAT_BINARY,			/* COPY's binary format */
	COPY_FORMAT_RAW				/* tuples as the source stores them */
} CopyFormatKind;

/* The decision about one table. */
typedef struct CopyFormat
{
	Oid			target;			/* the target table; InvalidOid if it could
								 * not be created: then its rows are not
								 * copied */
	CopyFormatKind kind;
	const char *reason;			/* why no format with less work was chosen;
								 * NULL for raw tuples */
	char	   *statement;		/* COPY FROM STDIN for the target, owned; NULL
								 * for raw tuples */
	bool		truncate;		/* truncate first, so that rows need no WAL */
} CopyFormat;

typedef struct CopyFormats
{
	CopyFormat *tables;			/* in the order of the plan's tables */
	const ServerExtension *loader;	/* loads raw tuples on the target */
	char		wire_compression[64];	/* of raw tuples, for
										 * pg_pardump_read() */
} CopyFormats;

/* Returns "text", "binary" or "raw". */
extern const char *copy_format_name(CopyFormatKind kind);

/*
 * Log an error if --copy-format=raw is specified but the servers rule out raw
 * tuples.  findings_report() ends the run later.
 */
extern void copy_format_check(PGconn *source_conn, const Target *target,
							  const DumpPlan *plan);

/*
 * Decide the format of every table by querying both servers.  Raw tuples cost
 * the least work.  Next comes text, if the extension reads the table and its
 * library loads it, then COPY's binary format, and then COPY's text format.
 * Binary format is safe if no column's binary form contains an OID that means
 * something else on the target, and if both servers have the same types.  For
 * the conditions for raw tuples, see copy_format.c.  targets is the target of
 * each table (CopyFormat.target).  Exits with a message if the format of
 * --copy-format cannot be used.
 */
extern const CopyFormats *copy_formats_decide(PGconn *source_conn,
											  const Target *target,
											  const DumpPlan *plan,
											  const Oid *targets);

#endif							/* COPY_FORMAT_H */
