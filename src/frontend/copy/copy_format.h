/*
 * copy_format.h
 *		Which tables are copied in COPY's binary format, which as text.
 */
#ifndef COPY_FORMAT_H
#define COPY_FORMAT_H

#include "base/fe_compat.h"

#include "plan/dump_plan.h"

/* What was decided about one table. */
typedef struct CopyFormat
{
	char	   *text_reason;	/* NULL if it is copied in binary format;
								 * owned */
	char	   *statement;		/* COPY FROM STDIN, for the target; owned */
	bool		truncate;		/* first, so that the rows need no WAL */
} CopyFormat;

/*
 * Decide for every table, by asking both servers about the types of its
 * columns.  Binary is safe if no type of a column has an object identifier in
 * its binary form that means something else on the target, and if both sides
 * have the same types.  The target must have the tables by now.
 */
extern CopyFormat *copy_formats_decide(PGconn *source_conn,
									   PGconn *target_conn,
									   const Options *options,
									   const DumpPlan *plan);

#endif							/* COPY_FORMAT_H */
