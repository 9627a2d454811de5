/*-------------------------------------------------------------------------
 *
 * row_format.h
 *	  The formats of COPY that rows are read in.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_ROW_FORMAT_H
#define PARDUMP_ROW_FORMAT_H

typedef enum RowFormat
{
	ROW_TEXT,
	ROW_BINARY
} RowFormat;

#endif							/* PARDUMP_ROW_FORMAT_H */
