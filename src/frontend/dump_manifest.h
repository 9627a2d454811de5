/*
 * dump_manifest.h
 *		The manifest of a dump.
 */
#ifndef DUMP_MANIFEST_H
#define DUMP_MANIFEST_H

#include "dump_worker.h"

/*
 * Write it in the archive's directory when all other files are complete, but
 * not yet flushed.
 */
extern void dump_manifest_write(const DumpContext *context, const Toc *toc);

/* The kind of checksum that --manifest-checksums asks for. */
extern pg_checksum_type dump_manifest_checksum_type(const Options *options);

#endif							/* DUMP_MANIFEST_H */
