/*
 * toc_write.h
 *		Writes the table of contents of a directory archive.
 */
#ifndef TOC_WRITE_H
#define TOC_WRITE_H

#include "shared/compress_spec.h"
#include "stream/sink.h"
#include "toc/toc.h"

/*
 * Write the toc.dat of a directory archive whose data files are compressed as
 * given, with our mark.  Does not finish the sink.
 */
extern void toc_write(const Toc *toc, const CompressSpec *compress,
					  Sink *sink);

#endif							/* TOC_WRITE_H */
