/*
 * sink_compress.h
 *		Compresses what it is given, for the next sink.
 */
#ifndef SINK_COMPRESS_H
#define SINK_COMPRESS_H

#include "shared/compress_spec.h"

#include "stream/sink.h"

/* next is taken over.  Any method but none. */
extern Sink *sink_compress_new(Sink *next, const CompressSpec *spec);

#endif							/* SINK_COMPRESS_H */
