/*
 * decompress.c
 *		Decompresses by zlib, lz4 and zstd.
 */
#include "base/fe_compat.h"

#include <lz4frame.h>
#include <zlib.h>
#include <zstd.h>

#include "stream/decompress.h"

/* zstd's own default for streams; no frame gets a larger window. */
#define ZSTD_WINDOW_LOG_MAX 27

struct Decompressor
{
	CompressMethod method;
	z_stream	gzip;
	LZ4F_dctx  *lz4;
	ZSTD_DCtx  *zstd;
	const char *in;				/* fed and not yet taken */
	size_t		in_len;
	bool		in_stream;		/* begun and not ended */
	bool		any_stream;
	const char *error;
};

Decompressor *
decompressor_new(CompressMethod method, DecompressForm form)
{
	Decompressor *d = pg_malloc0(sizeof(Decompressor));
	bool		ok = false;

	d->method = method;
	switch (method)
	{
		case COMPRESS_NONE:
			break;
		case COMPRESS_GZIP:
			/* 16: with gzip's head and checksum, and nothing else */
			ok = inflateInit2(&d->gzip,
							  form == DECOMPRESS_FILE ? 15 + 16 : 15) == Z_OK;
			break;
		case COMPRESS_LZ4:
			ok = !LZ4F_isError(LZ4F_createDecompressionContext(&d->lz4,
															   LZ4F_VERSION));
			break;
		case COMPRESS_ZSTD:
			d->zstd = ZSTD_createDCtx();
			ok = d->zstd != NULL &&
				!ZSTD_isError(ZSTD_DCtx_setParameter(d->zstd,
													 ZSTD_d_windowLogMax,
													 ZSTD_WINDOW_LOG_MAX));
			break;
	}
	if (!ok)
		pg_fatal("could not initialize decompression with \"%s\"",
				 compress_method_name(method));
	return d;
}

void
decompressor_reset(Decompressor *d)
{
	if (d->lz4)
		LZ4F_resetDecompressionContext(d->lz4);
	if (d->zstd)
		ZSTD_DCtx_reset(d->zstd, ZSTD_reset_session_only);
	/* zlib is reset at the begin of each stream */
	d->in_len = 0;
	d->in_stream = false;
	d->any_stream = false;
	d->error = NULL;
}

void
decompressor_feed(Decompressor *d, const void *data, size_t len)
{
	d->in = data;
	d->in_len = len;
}

/*
 * One call of a library: takes from *in_len and makes up to *out_len bytes,
 * and sets both to what it took and made.  True at the end of a stream.
 */
static bool
step_gzip(Decompressor *d, size_t *in_len, void *out, size_t *out_len)
{
	uInt		in_max = (uInt) Min(*in_len, PG_INT32_MAX);
	uInt		out_max = (uInt) Min(*out_len, PG_INT32_MAX);
	int			rc;

	if (!d->in_stream && inflateReset(&d->gzip) != Z_OK)
		d->error = "could not begin a stream";
	d->gzip.next_in = (Bytef *) unconstify(char *, d->in);
	d->gzip.avail_in = in_max;
	d->gzip.next_out = out;
	d->gzip.avail_out = out_max;
	rc = inflate(&d->gzip, Z_NO_FLUSH);
	*in_len = in_max - d->gzip.avail_in;
	*out_len = out_max - d->gzip.avail_out;
	/* Z_BUF_ERROR: nothing to do without more input */
	if (rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR)
		d->error = d->gzip.msg ? d->gzip.msg : "invalid data";
	return rc == Z_STREAM_END;
}

static bool
step_lz4(Decompressor *d, size_t *in_len, void *out, size_t *out_len)
{
	size_t		rc = LZ4F_decompress(d->lz4, out, out_len, d->in, in_len, NULL);

	if (LZ4F_isError(rc))
		d->error = LZ4F_getErrorName(rc);
	return rc == 0;
}

static bool
step_zstd(Decompressor *d, size_t *in_len, void *out, size_t *out_len)
{
	ZSTD_inBuffer in = {d->in, *in_len, 0};
	ZSTD_outBuffer made = {out, *out_len, 0};
	size_t		rc = ZSTD_decompressStream(d->zstd, &made, &in);

	*in_len = in.pos;
	*out_len = made.pos;
	if (ZSTD_isError(rc))
		d->error = ZSTD_getErrorName(rc);
	return rc == 0;
}

ssize_t
decompressor_fetch(Decompressor *d, void *out, size_t size)
{
	/* a stream may hold back output that did not fit */
	while (d->error == NULL && (d->in_len > 0 || d->in_stream))
	{
		size_t		taken = d->in_len;
		size_t		made = size;
		bool		ended = false;

		switch (d->method)
		{
			case COMPRESS_NONE:
				d->error = "is not compressed";
				break;
			case COMPRESS_GZIP:
				ended = step_gzip(d, &taken, out, &made);
				break;
			case COMPRESS_LZ4:
				ended = step_lz4(d, &taken, out, &made);
				break;
			case COMPRESS_ZSTD:
				ended = step_zstd(d, &taken, out, &made);
				break;
		}
		if (d->error)
			break;
		d->in += taken;
		d->in_len -= taken;
		d->any_stream = true;
		d->in_stream = !ended;
		if (made > 0)
			return made;
		if (taken == 0 && !ended)
			break;
	}
	return d->error ? -1 : 0;
}

bool
decompressor_complete(const Decompressor *d)
{
	return d->any_stream && !d->in_stream && d->error == NULL;
}

const char *
decompressor_error(const Decompressor *d)
{
	return d->error;
}

void
decompressor_free(Decompressor *d)
{
	if (d->method == COMPRESS_GZIP)
		inflateEnd(&d->gzip);
	if (d->lz4)
		LZ4F_freeDecompressionContext(d->lz4);
	ZSTD_freeDCtx(d->zstd);
	free(d);
}
