/*-------------------------------------------------------------------------
 *
 * row_format.h
 *	  The formats that rows are read in: COPY's two, and as they are stored.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_ROW_FORMAT_H
#define PARDUMP_ROW_FORMAT_H

typedef enum RowFormat
{
	ROW_TEXT,
	ROW_BINARY,
	ROW_RAW
} RowFormat;

#endif							/* PARDUMP_ROW_FORMAT_H */
