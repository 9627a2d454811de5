/*
 * toc_file.h
 *		Reads and writes toc.dat.
 */
#ifndef TOC_FILE_H
#define TOC_FILE_H

#include "archive/toc.h"
#include "stream/sink.h"

/* ----------
 * Reads the table of contents of an archive.
 * ----------
 */

/*
 * Hands over exactly len bytes, or fewer at the end of the input; exits with
 * a message on a read error.
 */
typedef size_t (*TocReadCallback) (void *arg, void *buf, size_t len);

/*
 * Read the toc.dat that a pg_dump run by us writes for a directory archive,
 * or the beginning of its archive in the custom format, up to the last byte
 * of the entries, which get no name of a file.  NULL if the input ends
 * before: *problem then says where.  Exits with a message for what is not
 * such a file.
 */
extern Toc *toc_read_pg_dump(TocReadCallback read, void *arg,
							 bool is_custom, const char **problem);

/* What *problem says of an archive older or newer than those read here. */
#define TOC_READ_UNSUPPORTED "unsupported archive format"

/*
 * The same of an archive file in the custom format, or of a directory
 * archive's toc.dat, which may be of any origin: NULL, and *problem, for what
 * is not one.  Offsets, and the names of entries' files, are as they stand.
 */
extern Toc *toc_read_file(TocReadCallback read, void *arg, bool is_custom,
						  const char **problem);

/* ----------
 * Writes the table of contents of a directory archive.
 * ----------
 */

/*
 * Write the toc.dat of a directory archive whose data files are compressed as
 * given, with our mark.  Does not finish the sink.
 */
extern void toc_write(const Toc *toc, const CompressSpec *compress,
					  Sink *sink);

#endif							/* TOC_FILE_H */
