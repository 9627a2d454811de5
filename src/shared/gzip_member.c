/*
 * gzip_member.c
 *		Compresses a buffer into one gzip member (RFC 1952).
 */
#include <stdint.h>
#include <stdlib.h>

#include <isa-l/igzip_lib.h>
#include <libdeflate.h>

#include "shared/gzip_member.h"

/*
 * ISA-L's levels are finer steps of what others call level 1.  This one costs
 * a tenth more than the fastest, and wins a few percent of size.
 */
#define ISAL_LEVEL 2
#define ISAL_LEVEL_BYTES ISAL_DEF_LVL2_DEFAULT

struct GzipCodec
{
	struct libdeflate_compressor *libdeflate;	/* or these: */
	struct isal_zstream *isal;
	uint8_t    *isal_level;
};

GzipCodec *
gzip_codec_new(int level)
{
	GzipCodec  *codec = calloc(1, sizeof(GzipCodec));

	if (codec == NULL)
		return NULL;
	if (level == 1)
	{
		codec->isal = malloc(sizeof(*codec->isal));
		codec->isal_level = malloc(ISAL_LEVEL_BYTES);
	}
	else
		/* a level lower, it still makes smaller files than zlib does */
		codec->libdeflate = libdeflate_alloc_compressor(level - 1);
	/* one of the two libraries, with all that it needs */
	if (!codec->libdeflate && !(codec->isal && codec->isal_level))
	{
		gzip_codec_free(codec);
		return NULL;
	}
	return codec;
}

size_t
gzip_member_bound(size_t length)
{
	/* stored in more and smaller pieces than ISA-L's of 64 kB */
	return libdeflate_gzip_compress_bound(NULL, length);
}

/* A member made by ISA-L at ISAL_LEVEL; 0 if there was not enough room. */
static size_t
isal_member(GzipCodec *codec, const void *data, size_t length,
			void *out, size_t room)
{
	struct isal_zstream *stream = codec->isal;

	/* stateless: all input and all room for output are given at once */
	isal_deflate_stateless_init(stream);
	stream->level = ISAL_LEVEL;
	stream->level_buf = codec->isal_level;
	stream->level_buf_size = ISAL_LEVEL_BYTES;
	stream->gzip_flag = IGZIP_GZIP;
	stream->end_of_stream = 1;
	stream->next_in = (uint8_t *) data;
	stream->avail_in = length;
	stream->next_out = out;
	stream->avail_out = room;
	if (isal_deflate_stateless(stream) != COMP_OK || stream->avail_in > 0)
		return 0;
	return stream->total_out;
}

size_t
gzip_member_compress(GzipCodec *codec, const void *data, size_t length,
					 void *out, size_t room)
{
	if (codec->isal)
		return isal_member(codec, data, length, out, room);
	return libdeflate_gzip_compress(codec->libdeflate, data, length, out, room);
}

void
gzip_codec_free(GzipCodec *codec)
{
	if (codec->libdeflate)
		libdeflate_free_compressor(codec->libdeflate);
	free(codec->isal);
	free(codec->isal_level);
	free(codec);
}
