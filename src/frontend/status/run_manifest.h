/*
 * run_manifest.h
 *		The manifest of a dump.
 */
#ifndef RUN_MANIFEST_H
#define RUN_MANIFEST_H

#include "archive/manifest.h"
#include "status/run.h"

/*
 * Make it when all files are complete.  Of a copy, which has none, it tells
 * the same, for a report: paths are what a piece is, "chunk 2 of 9".  It
 * borrows from the plan, and is never freed.
 */
extern Manifest *run_manifest_new(const Run *run);

/* Write it in the archive's directory, before all is flushed. */
extern void run_manifest_write(const Run *run,
							   const Manifest *manifest);

#endif							/* RUN_MANIFEST_H */
