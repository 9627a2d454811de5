/*
 * block_compress.c
 *		Compresses a stream that is fed block by block: gzip, lz4, zstd.
 */
#include <stdlib.h>
#include <string.h>

#include <lz4frame.h>
#include <zstd.h>

#include "shared/block_compress.h"
#include "shared/gzip_member.h"

/*
 * The fastest libraries compress whole buffers only, so a gzip stream is a
 * sequence of members (RFC 1952, section 2.2), which zlib's gzread(), and so
 * every pg_restore, reads as one.  Input is gathered up to this size, so that
 * small writes do not make small members.
 */
#define GZIP_MEMBER_BYTES ((size_t) 1024 * 1024)

/* What LZ4F_compressUpdate() is given at most. */
#define LZ4_STEP_BYTES ((size_t) 256 * 1024)

struct BlockCompressor
{
	CompressSpec spec;
	const char *in;				/* borrowed: not yet taken */
	size_t		in_len;
	bool		last;			/* the stream ends with in */
	bool		begun;			/* something of it was written */
	bool		ended;			/* all of it was written */
	const char *error;

	/* of the method in use */
	GzipCodec  *gzip;
	char	   *member;			/* GZIP_MEMBER_BYTES */
	size_t		member_len;
	LZ4F_cctx  *lz4;
	LZ4F_preferences_t lz4_preferences;
	ZSTD_CCtx  *zstd;
};

/* ----------
 * gzip
 * ----------
 */
static ssize_t
gzip_member(BlockCompressor *c, const char *data, size_t len, void *out,
			size_t room)
{
	size_t		made = gzip_member_compress(c->gzip, data, len, out, room);

	if (made == 0)
	{
		c->error = "a gzip member exceeds its bound";
		return -1;
	}
	c->begun = true;
	return (ssize_t) made;
}

static ssize_t
gzip_fetch(BlockCompressor *c, void *out)
{
	size_t		part = GZIP_MEMBER_BYTES - c->member_len;
	size_t		len;

	if (c->in_len < part)
		part = c->in_len;
	if (part == GZIP_MEMBER_BYTES)
	{
		/* a whole member: no copy */
		const char *data = c->in;

		c->in += part;
		c->in_len -= part;
		return gzip_member(c, data, part, out, block_compressor_out_bytes(c));
	}
	if (part > 0)
		memcpy(c->member + c->member_len, c->in, part);
	c->member_len += part;
	c->in += part;
	c->in_len -= part;

	len = c->member_len;
	if (len < GZIP_MEMBER_BYTES && !c->last)
		return 0;				/* wait for more */
	c->ended = c->last && c->in_len == 0;
	/* no input at all is one empty member: an empty file is no gzip file */
	if (len == 0 && c->begun)
		return 0;
	c->member_len = 0;
	return gzip_member(c, c->member, len, out, block_compressor_out_bytes(c));
}

/* ----------
 * lz4
 * ----------
 */
static ssize_t
lz4_result(BlockCompressor *c, size_t result)
{
	if (LZ4F_isError(result))
	{
		c->error = LZ4F_getErrorName(result);
		return -1;
	}
	return (ssize_t) result;
}

static ssize_t
lz4_fetch(BlockCompressor *c, void *out)
{
	size_t		out_bytes = block_compressor_out_bytes(c);
	ssize_t		made = 0;

	if (!c->begun)
	{
		c->begun = true;
		return lz4_result(c, LZ4F_compressBegin(c->lz4, out, out_bytes,
												&c->lz4_preferences));
	}
	/* small input may stay inside, and give no output */
	while (c->in_len > 0 && made == 0)
	{
		size_t		part = c->in_len < LZ4_STEP_BYTES ? c->in_len : LZ4_STEP_BYTES;

		made = lz4_result(c, LZ4F_compressUpdate(c->lz4, out, out_bytes,
												 c->in, part, NULL));
		c->in += part;
		c->in_len -= part;
	}
	if (made != 0 || !c->last)
		return made;
	c->ended = true;
	return lz4_result(c, LZ4F_compressEnd(c->lz4, out, out_bytes, NULL));
}

/* ----------
 * zstd
 * ----------
 */
static ssize_t
zstd_fetch(BlockCompressor *c, void *out)
{
	ZSTD_outBuffer to = {out, block_compressor_out_bytes(c), 0};
	ZSTD_inBuffer from = {c->in, c->in_len, 0};
	ZSTD_EndDirective mode = c->last ? ZSTD_e_end : ZSTD_e_continue;

	/* until the output is full, or the input taken (or the frame closed) */
	while (to.pos < to.size && (from.pos < from.size || c->last) && !c->ended)
	{
		size_t		left = ZSTD_compressStream2(c->zstd, &to, &from, mode);

		if (ZSTD_isError(left))
		{
			c->error = ZSTD_getErrorName(left);
			return -1;
		}
		c->ended = c->last && left == 0;
	}
	c->in += from.pos;
	c->in_len -= from.pos;
	return (ssize_t) to.pos;
}

/* ----------
 * All of them
 * ----------
 */
static bool
set_up_zstd(BlockCompressor *c)
{
	c->zstd = ZSTD_createCCtx();
	return c->zstd &&
		!ZSTD_isError(ZSTD_CCtx_setParameter(c->zstd, ZSTD_c_compressionLevel,
											 c->spec.level)) &&
		!ZSTD_isError(ZSTD_CCtx_setParameter(c->zstd, ZSTD_c_nbWorkers,
											 c->spec.workers)) &&
		!ZSTD_isError(ZSTD_CCtx_setParameter(c->zstd,
											 ZSTD_c_enableLongDistanceMatching,
											 c->spec.long_distance));
}

static bool
set_up(BlockCompressor *c)
{
	switch (c->spec.method)
	{
		case COMPRESS_NONE:
			return false;
		case COMPRESS_GZIP:
			c->gzip = gzip_codec_new(c->spec.level);
			c->member = malloc(GZIP_MEMBER_BYTES);
			return c->gzip && c->member;
		case COMPRESS_LZ4:
			/* pg_restore reads larger blocks several times slower */
			c->lz4_preferences.frameInfo.blockSizeID = LZ4F_max64KB;
			c->lz4_preferences.compressionLevel = c->spec.level;
			return !LZ4F_isError(LZ4F_createCompressionContext(&c->lz4,
															   LZ4F_VERSION));
		case COMPRESS_ZSTD:
			return set_up_zstd(c);
	}
	return false;
}

BlockCompressor *
block_compressor_new(const CompressSpec *spec)
{
	BlockCompressor *c = calloc(1, sizeof(BlockCompressor));

	if (c == NULL)
		return NULL;
	c->spec = *spec;
	if (!set_up(c))
	{
		block_compressor_free(c);
		return NULL;
	}
	return c;
}

void
block_compressor_reset(BlockCompressor *c)
{
	c->in = NULL;
	c->in_len = 0;
	c->last = c->begun = c->ended = false;
	c->error = NULL;
	c->member_len = 0;
	/* LZ4F_compressBegin() starts anew by itself */
	if (c->zstd)
		ZSTD_CCtx_reset(c->zstd, ZSTD_reset_session_only);
}

size_t
block_compressor_out_bytes(const BlockCompressor *c)
{
	size_t		bound;

	switch (c->spec.method)
	{
		case COMPRESS_GZIP:
			return gzip_member_bound(GZIP_MEMBER_BYTES);
		case COMPRESS_LZ4:
			bound = LZ4F_compressBound(LZ4_STEP_BYTES, &c->lz4_preferences);
			return bound > LZ4F_HEADER_SIZE_MAX ? bound : LZ4F_HEADER_SIZE_MAX;
		case COMPRESS_ZSTD:
			return ZSTD_CStreamOutSize();
		case COMPRESS_NONE:
			break;
	}
	return 0;
}

void
block_compressor_feed(BlockCompressor *c, const void *data, size_t len,
					  bool last)
{
	c->in = data;
	c->in_len = len;
	c->last = last;
}

ssize_t
block_compressor_fetch(BlockCompressor *c, void *out)
{
	if (c->ended || (c->in_len == 0 && !c->last))
		return 0;
	switch (c->spec.method)
	{
		case COMPRESS_GZIP:
			return gzip_fetch(c, out);
		case COMPRESS_LZ4:
			return lz4_fetch(c, out);
		case COMPRESS_ZSTD:
			return zstd_fetch(c, out);
		case COMPRESS_NONE:
			break;
	}
	return 0;
}

/* ----------
 * All at once
 * ----------
 */
size_t
block_compressor_bound(const BlockCompressor *c, size_t len)
{
	switch (c->spec.method)
	{
		case COMPRESS_GZIP:
			return gzip_member_bound(len);
		case COMPRESS_LZ4:
			return LZ4F_HEADER_SIZE_MAX +
				LZ4F_compressBound(len, &c->lz4_preferences);
		case COMPRESS_ZSTD:
			return ZSTD_compressBound(len);
		case COMPRESS_NONE:
			break;
	}
	return 0;
}

static ssize_t
lz4_whole(BlockCompressor *c, const void *data, size_t len, char *out)
{
	size_t		room = block_compressor_bound(c, len);
	ssize_t		head;
	ssize_t		body = 0;
	ssize_t		end;

	head = lz4_result(c, LZ4F_compressBegin(c->lz4, out, room,
											&c->lz4_preferences));
	if (head >= 0)
		body = lz4_result(c, LZ4F_compressUpdate(c->lz4, out + head, room - head,
												 data, len, NULL));
	if (head < 0 || body < 0)
		return -1;
	end = lz4_result(c, LZ4F_compressEnd(c->lz4, out + head + body,
										 room - head - body, NULL));
	return end < 0 ? -1 : head + body + end;
}

static ssize_t
zstd_whole(BlockCompressor *c, const void *data, size_t len, void *out)
{
	size_t		made = ZSTD_compress2(c->zstd, out, ZSTD_compressBound(len),
									  data, len);

	if (ZSTD_isError(made))
	{
		c->error = ZSTD_getErrorName(made);
		return -1;
	}
	return (ssize_t) made;
}

ssize_t
block_compressor_whole(BlockCompressor *c, const void *data, size_t len,
					   void *out)
{
	block_compressor_reset(c);
	switch (c->spec.method)
	{
		case COMPRESS_GZIP:
			return gzip_member(c, data, len, out, gzip_member_bound(len));
		case COMPRESS_LZ4:
			return lz4_whole(c, data, len, out);
		case COMPRESS_ZSTD:
			return zstd_whole(c, data, len, out);
		case COMPRESS_NONE:
			break;
	}
	c->error = "nothing to compress by";
	return -1;
}

const char *
block_compressor_error(const BlockCompressor *c)
{
	return c->error;
}

void
block_compressor_free(BlockCompressor *c)
{
	if (c->gzip)
		gzip_codec_free(c->gzip);
	free(c->member);
	if (c->lz4)
		LZ4F_freeCompressionContext(c->lz4);
	ZSTD_freeCCtx(c->zstd);
	free(c);
}
