/*
 * copy_format.h
 *		In which format each table is copied.
 */
#ifndef COPY_FORMAT_H
#define COPY_FORMAT_H

#include "load/target.h"

/* The formats, as --copy-format and messages name them. */
typedef enum CopyFormatKind
{
	COPY_FORMAT_TEXT,			/* COPY's */
	COPY_FORMAT_BINARY,			/* COPY's, too */
	COPY_FORMAT_RAW				/* tuples as they are stored */
} CopyFormatKind;

/* What was decided about one table. */
typedef struct CopyFormat
{
	Oid			target;			/* the table that its rows go to; InvalidOid
								 * if they are not copied, as it could not be
								 * made */
	CopyFormatKind kind;
	const char *reason;			/* why it is none of those that take less
								 * work; NULL for raw tuples */
	char	   *statement;		/* COPY FROM STDIN, for the target; owned.
								 * NULL for raw tuples */
	bool		truncate;		/* first, so that the rows need no WAL */
} CopyFormat;

typedef struct CopyFormats
{
	CopyFormat *tables;			/* in their order */
	const ServerExtension *loader;	/* of raw tuples, on the target */
	char		wire_compression[64];	/* of raw tuples on their way, as
										 * pg_pardump_read() takes it */
} CopyFormats;

/* "text", "binary", "raw" */
extern const char *copy_format_name(CopyFormatKind kind);

/*
 * Tell of an error if raw tuples are asked for, and the servers rule them
 * out.  For findings_report() to end the run.
 */
extern void copy_format_check(PGconn *source_conn, const Target *target,
							  const DumpPlan *plan);

/*
 * Decide for every table, by asking both servers.  Raw tuples take the least
 * work; next comes text if the extension reads it and its library loads it,
 * then COPY's binary format, then text.  Binary is safe if no type of a
 * column has an object identifier in its binary form that means something
 * else on the target, and if both sides have the same types; when raw tuples
 * are, copy_format.c says.  targets: CopyFormat.target of each table.  Exits
 * with a message where --copy-format asks for what cannot be.
 */
extern const CopyFormats *copy_formats_decide(PGconn *source_conn,
											  const Target *target,
											  const DumpPlan *plan,
											  const Oid *targets);

#endif							/* COPY_FORMAT_H */
