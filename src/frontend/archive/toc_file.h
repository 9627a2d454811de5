/*
 * toc_file.h
 *		Reads the table of contents from pg_dump's output or from archives of
 *		other origin, and writes toc.dat of our archives.
 */
#ifndef TOC_FILE_H
#define TOC_FILE_H

#include "archive/toc.h"
#include "stream/sink.h"

/* ----------
 * Reading a table of contents.
 * ----------
 */

/*
 * Reads exactly len bytes, or fewer at the end of the input.  Exits with a
 * message on a read error.
 */
typedef size_t (*TocReadCallback) (void *arg, void *buf, size_t len);

/*
 * Read the table of contents from the output of a pg_dump that this program
 * runs: toc.dat of a directory archive, or the beginning of a custom archive,
 * up to the last byte of the entries.  The entries get no file names.
 * Returns NULL if the input ends early; *problem is then a sentence about the
 * part in which it ended.  Exits with a message if the input is not valid.
 */
extern Toc *toc_read_pg_dump(TocReadCallback read, void *arg,
							 bool is_custom, const char **problem);

/*
 * *problem for an archive of an older or newer format than those supported.
 */
#define TOC_READ_UNSUPPORTED "it has an unsupported format version"

/*
 * Read the table of contents from a custom archive, or from toc.dat of a
 * directory archive, which may come from anywhere.  Returns NULL and sets
 * *problem if it is not valid.  Offsets and file names are those of the
 * archive.
 */
extern Toc *toc_read_file(TocReadCallback read, void *arg, bool is_custom,
						  const char **problem);

/* ----------
 * Writing a table of contents.
 * ----------
 */

/*
 * Write the toc.dat of a directory archive with our mark.  Its data files are
 * compressed as given.  Does not finish the sink.
 */
extern void toc_write(const Toc *toc, const CompressSpec *compress,
					  Sink *sink);

#endif							/* TOC_FILE_H */
