/*
 * gzip_member.h
 *		Compresses a buffer into one gzip member (RFC 1952).
 *
 * The levels are zlib's: each makes files of about the size that zlib's level
 * does, or smaller, by the library that is fastest at it.  That is ISA-L for
 * level 1, and libdeflate for those above, which ISA-L has nothing like.
 */
#ifndef GZIP_MEMBER_H
#define GZIP_MEMBER_H

#include <stddef.h>

typedef struct GzipCodec GzipCodec;

/* A codec for a level from 1 to 9, or NULL: out of memory. */
extern GzipCodec *gzip_codec_new(int level);

/* The bytes that the member of a buffer of this length can have. */
extern size_t gzip_member_bound(size_t length);

/*
 * Write the member of the buffer, which may be empty, and return its length;
 * 0 if there is not the room that gzip_member_bound() asks for.
 */
extern size_t gzip_member_compress(GzipCodec *codec, const void *data,
								   size_t length, void *out, size_t room);

/* Free a codec, not NULL. */
extern void gzip_codec_free(GzipCodec *codec);

#endif							/* GZIP_MEMBER_H */
