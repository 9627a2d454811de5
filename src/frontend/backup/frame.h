/*
 * frame.h
 *		How long a frame of compressed bytes is, by what it says of itself.
 */
#ifndef FRAME_H
#define FRAME_H

#include "base/fe_compat.h"

#include "shared/compress_spec.h"

/*
 * The bytes of the zstd or lz4 frame that begins there, of those that are
 * left; 0 if it is none, or cut.  Nothing is decompressed.  Other methods
 * have no frames that tell: all that is left.
 */
extern uint64 frame_bytes(const void *frame, uint64 left,
						  CompressMethod method);

#endif							/* FRAME_H */
