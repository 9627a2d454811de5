/*
 * manifest_write.h
 *		Writes a manifest as JSON.
 */
#ifndef MANIFEST_WRITE_H
#define MANIFEST_WRITE_H

#include "archive/manifest.h"
#include "stream/sink.h"

/*
 * Write a manifest, and finish and free the sink.  A name that is not valid
 * in UTF-8, which JSON is, is written in hexadecimal, as Encoded-NAME.
 */
extern void manifest_write(const Manifest *manifest, Sink *sink);

#endif							/* MANIFEST_WRITE_H */
