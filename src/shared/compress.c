/*
 * compress.c
 *		Reads the description of a compression, and compresses a stream that
 *		is fed block by block: gzip, lz4, zstd.
 */
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <isa-l/igzip_lib.h>
#include <libdeflate.h>
#include <lz4frame.h>
#include <zstd.h>

#include "shared/compress.h"

/* ----------
 * Methods, and descriptions of a compression
 *
 * PostgreSQL's own parser (common/compression.c) came with 15 and learnt
 * "long" with 16, so it cannot serve code that is built for 15 and writes
 * archives for any of them.  The grammar and the limits are its.
 * ----------
 */

typedef struct MethodInfo
{
	const char *name;
	const char *suffix;
	int			min_level;
	int			max_level;
	int			default_level;
	int			first_major;	/* whose pg_restore reads it */
} MethodInfo;

/* Indexed by CompressMethod; the levels are pg_dump's. */
static const MethodInfo methods[N_COMPRESS_METHODS] = {
	[COMPRESS_NONE] = {"none", "", 0, 0, 0, 0},
	[COMPRESS_GZIP] = {"gzip", ".gz", 1, 9, 6, 0},
	[COMPRESS_LZ4] = {"lz4", ".lz4", 0, 12, 0, 16},
	[COMPRESS_ZSTD] = {"zstd", ".zst", -131072, 22, 3, 16},
};

/* The spec that is being read, and the buffer for a message. */
typedef struct Parser
{
	CompressSpec *spec;
	char	   *error;
} Parser;

/* Note a message; "return fail(...)" reads as what it is. */
#define fail(parser, ...) \
	(snprintf((parser)->error, COMPRESS_SPEC_ERROR_BYTES, __VA_ARGS__), false)

static bool
parse_int(Parser *parser, const char *text, const char *option, int *value)
{
	char	   *end;
	long		number;

	/* strtol() reports a number that is too long for it in errno only */
	errno = 0;
	number = strtol(text, &end, 10);
	if (end == text || *end != '\0' || errno != 0 ||
		number < INT_MIN || number > INT_MAX)
		return fail(parser, "value for compression option \"%s\" must be an integer",
					option);
	*value = (int) number;
	return true;
}

static bool
parse_bool(Parser *parser, const char *text, bool *value)
{
	static const char *const words[] = {"on", "true", "yes", "1",
	"off", "false", "no", "0"};

	for (int i = 0; i < 8; i++)
	{
		if (strcasecmp(text, words[i]) == 0)
		{
			*value = i < 4;
			return true;
		}
	}
	return fail(parser, "value for compression option \"%s\" must be a Boolean value",
				"long");
}

static bool
check_level(Parser *parser)
{
	const MethodInfo *info = &methods[parser->spec->method];

	if (parser->spec->method == COMPRESS_NONE)
		return fail(parser, "compression algorithm \"none\" does not accept a compression level");
	if (parser->spec->level < info->min_level ||
		parser->spec->level > info->max_level)
		return fail(parser, "compression algorithm \"%s\" expects a compression level between %d and %d",
					info->name, info->min_level, info->max_level);
	return true;
}

/* zstd is usually built with threads, but need not be. */
static bool
check_workers(Parser *parser)
{
	ZSTD_bounds bounds = ZSTD_cParam_getBounds(ZSTD_c_nbWorkers);
	int			max = ZSTD_isError(bounds.error) ? 0 : bounds.upperBound;

	if (parser->spec->workers < 0 || parser->spec->workers > max)
		return fail(parser, "this zstd library supports between 0 and %d workers",
					max);
	return true;
}

/*
 * Read one option of a list.  The value is cut off at "=", and an option
 * without one is read as if it had an empty value, except "long".
 */
static bool
parse_option(Parser *parser, char *option)
{
	CompressSpec *spec = parser->spec;
	char	   *value = strchr(option, '=');

	if (value)
		*value++ = '\0';
	if (*option == '\0')
		return fail(parser, "found empty string where a compression option was expected");
	if (strcmp(option, "level") == 0)
		return parse_int(parser, value ? value : "", "level", &spec->level) &&
			check_level(parser);
	/* an unknown option is reported before one that the method lacks */
	if (strcmp(option, "workers") != 0 && strcmp(option, "long") != 0)
		return fail(parser, "unrecognized compression option: \"%.64s\"", option);
	if (spec->method != COMPRESS_ZSTD)
		return fail(parser, "compression algorithm \"%s\" does not support option \"%s\"",
					methods[spec->method].name, option);
	if (strcmp(option, "workers") == 0)
		return parse_int(parser, value ? value : "", "workers", &spec->workers) &&
			check_workers(parser);
	spec->long_distance = true;
	return value == NULL || parse_bool(parser, value, &spec->long_distance);
}

/* A level by itself, or a list of options. */
static bool
parse_detail(Parser *parser, char *detail)
{
	if (*detail != '\0' && strspn(detail, "+-0123456789") == strlen(detail))
		return parse_int(parser, detail, "level", &parser->spec->level) &&
			check_level(parser);
	while (detail)
	{
		char	   *next = strchr(detail, ',');

		if (next)
			*next++ = '\0';
		if (!parse_option(parser, detail))
			return false;
		detail = next;
	}
	return true;
}

/*
 * The copy of the argument is cut into words in place.  Limits are checked as
 * each option is read, so that the first wrong one is reported.
 */
bool
compress_spec_parse(const char *arg, CompressSpec *spec, char *error)
{
	Parser		parser = {spec, error};
	char		text[256];
	char	   *detail;
	int			method;

	memset(spec, 0, sizeof(*spec));
	if (strlen(arg) >= sizeof(text))
		return fail(&parser, "compression specification is too long");
	strcpy(text, arg);

	if (*text != '\0' && strspn(text, "+-0123456789") == strlen(text))
	{
		/* a bare number is a gzip level, 0 meaning none (pg_dump -Z 5) */
		if (!parse_int(&parser, text, "level", &spec->level))
			return false;
		spec->method = spec->level == 0 ? COMPRESS_NONE : COMPRESS_GZIP;
		return spec->level == 0 || check_level(&parser);
	}

	detail = strchr(text, ':');
	if (detail)
		*detail++ = '\0';
	for (method = 0; method < N_COMPRESS_METHODS; method++)
		if (strcasecmp(text, methods[method].name) == 0)
			break;
	if (method == N_COMPRESS_METHODS)
		return fail(&parser, "unrecognized compression algorithm: \"%.64s\"", text);
	spec->method = (CompressMethod) method;
	/* set before the detail is read, which may name no level */
	spec->level = methods[method].default_level;
	return detail == NULL || parse_detail(&parser, detail);
}

void
compress_spec_print(const CompressSpec *spec, char *buf, size_t size)
{
	if (spec->method == COMPRESS_NONE)
		snprintf(buf, size, "none");
	else if (spec->method == COMPRESS_ZSTD)
		snprintf(buf, size, "zstd:level=%d,long=%s,workers=%d", spec->level,
				 spec->long_distance ? "on" : "off", spec->workers);
	else
		snprintf(buf, size, "%s:%d", methods[spec->method].name, spec->level);
}

bool
compress_spec_equal(const CompressSpec *a, const CompressSpec *b)
{
	return a->method == b->method && a->level == b->level &&
		a->long_distance == b->long_distance && a->workers == b->workers;
}

CompressSpec
compress_spec_default(int pg_dump_major)
{
	CompressSpec spec = {COMPRESS_GZIP, 1, false, 0};

	if (compress_method_readable(COMPRESS_ZSTD, pg_dump_major))
		spec.method = COMPRESS_ZSTD;
	return spec;
}

bool
compress_method_readable(CompressMethod method, int pg_dump_major)
{
	return pg_dump_major >= methods[method].first_major;
}

const char *
compress_method_name(CompressMethod method)
{
	return methods[method].name;
}

const char *
compress_method_suffix(CompressMethod method)
{
	return methods[method].suffix;
}

/* ----------
 * Streams
 *
 * There are two ways.  lz4, and zstd above its first level, are streams of
 * their libraries, which remember what came before.  gzip, and zstd's first
 * level, compress whole buffers one after the other.
 *
 * Nothing is written before block_compressor_fetch() asks for it, so that the
 * caller decides how much output there is at a time.
 * ----------
 */

/*
 * The fastest libraries for gzip compress whole buffers only, so a gzip
 * stream is a sequence of members (RFC 1952, section 2.2), which zlib's
 * gzread(), and so every pg_restore, reads as one.  Input is gathered up to
 * this size, so that small writes do not make small members.
 */
#define GZIP_MEMBER_BYTES ((size_t) 1024 * 1024)

/*
 * So it is with zstd's first level, whose streams have a short memory: a
 * stream goes through a ring of that length and copies all it is given, and
 * a match may be on the other side of the ring's end, which takes a fifth to
 * a quarter more CPU time than a buffer that lies in one piece.  Frames that
 * remember all of themselves are smaller in the sum, too.  Higher levels
 * remember more than a frame is to have.
 */
#define ZSTD_FRAME_LEVEL 1
#define ZSTD_FRAME_LOG 22
#define ZSTD_FRAME_BYTES ((size_t) 1 << ZSTD_FRAME_LOG)

/* The longest input of a call of LZ4F_compressUpdate(). */
#define LZ4_STEP_BYTES ((size_t) 256 * 1024)

/* What a method does with its library; NULL where it has nothing to do. */
typedef struct Codec
{
	bool		(*set_up) (BlockCompressor *c);

	/* Room for a call of fetch(), and for len bytes at once. */
	size_t		(*out_bytes) (const BlockCompressor *c);
	size_t		(*bound) (const BlockCompressor *c, size_t len);

	/* Of a stream that is not one of whole buffers. */
	ssize_t		(*fetch) (BlockCompressor *c, void *out);

	/* One frame or member: its length, or -1 with an error. */
	ssize_t		(*whole) (BlockCompressor *c, const void *data, size_t len,
						  void *out);
} Codec;

struct BlockCompressor
{
	const Codec *codec;
	CompressSpec spec;
	bool		checksums;
	const char *in;				/* borrowed: not yet taken */
	size_t		in_len;
	bool		last;			/* the stream ends with in */
	bool		begun;			/* something of it was written */
	bool		ended;			/* all of it was written */
	const char *error;

	/* of a stream of whole buffers */
	size_t		part_bytes;		/* of them; 0 = not such a stream */
	char	   *part;			/* gathered for the next; or NULL */
	size_t		part_len;
	char	   *made;			/* what has become of the last */
	size_t		made_len;
	size_t		made_pos;		/* fetched up to here */

	/* of the method in use */
	struct libdeflate_compressor *libdeflate;	/* or these: */
	struct isal_zstream *isal;
	uint8_t    *isal_level;
	LZ4F_cctx  *lz4;
	LZ4F_preferences_t lz4_preferences;
	ZSTD_CCtx  *zstd;
};

/* ----------
 * Whole buffers
 * ----------
 */

/* Take the next whole buffer, or what is left at the stream's end. */
static const char *
gather(BlockCompressor *c, size_t *len)
{
	const char *in = c->in;

	/* what the next whole buffer still lacks */
	size_t		part = c->part_bytes - c->part_len;

	if (c->in_len < part)
		part = c->in_len;
	c->in += part;
	c->in_len -= part;
	*len = c->part_len + part;
	/* a whole one: no copy */
	if (part == c->part_bytes)
		return in;
	if (part > 0)
		memcpy(c->part + c->part_len, in, part);
	c->part_len = *len;
	if (*len < c->part_bytes && !c->last)
		return NULL;			/* wait for more */
	c->part_len = 0;
	return c->part;
}

/*
 * Room for one, and for what becomes of it: not before it is needed, as
 * block_compressor_whole() does without.
 */
static bool
have_room(BlockCompressor *c)
{
	if (c->part == NULL)
		c->part = malloc(c->part_bytes);
	if (c->made == NULL)
		c->made = malloc(block_compressor_bound(c, c->part_bytes));
	if (c->part == NULL || c->made == NULL)
		c->error = "out of memory";
	return c->error == NULL;
}

/*
 * The next bytes of a stream of whole buffers.  What became of one buffer may
 * be longer than "out" has room for, and is handed out in pieces.
 */
static ssize_t
buffers_fetch(BlockCompressor *c, void *out)
{
	size_t		len = c->made_len - c->made_pos;

	if (!have_room(c))
		return -1;
	if (len == 0)
	{
		const char *data = gather(c, &len);
		ssize_t		made;

		if (data == NULL)
			return 0;
		/* no input at all is one that is empty: no file is without any */
		if (len == 0 && c->begun)
		{
			c->ended = true;
			return 0;
		}
		c->begun = true;
		/* into memory of its own: out may be smaller than the bound */
		made = c->codec->whole(c, data, len, c->made);
		if (made < 0)
			return -1;
		c->made_pos = 0;
		c->made_len = len = made;
	}
	if (len > block_compressor_out_bytes(c))
		len = block_compressor_out_bytes(c);
	memcpy(out, c->made + c->made_pos, len);
	c->made_pos += len;
	c->ended = c->last && c->in_len == 0 && c->made_pos == c->made_len;
	return (ssize_t) len;
}

/* ----------
 * gzip
 *
 * The levels are zlib's: each makes files of about the size that zlib's level
 * does, or smaller, by the library that is fastest at it.  That is ISA-L for
 * level 1, and libdeflate for those above, which ISA-L has nothing like.
 * ----------
 */

/*
 * ISA-L's levels are finer steps of what others call level 1.  This one costs
 * a tenth more than the fastest, and wins a few percent of size.
 */
#define ISAL_LEVEL 2
#define ISAL_LEVEL_BYTES ISAL_DEF_LVL2_DEFAULT

static bool
gzip_set_up(BlockCompressor *c)
{
	c->part_bytes = GZIP_MEMBER_BYTES;
	if (c->spec.level == 1)
	{
		c->isal = malloc(sizeof(*c->isal));
		c->isal_level = malloc(ISAL_LEVEL_BYTES);
		return c->isal && c->isal_level;
	}
	/* a level lower, it still makes smaller files than zlib does */
	c->libdeflate = libdeflate_alloc_compressor(c->spec.level - 1);
	return c->libdeflate != NULL;
}

static size_t
gzip_bound(const BlockCompressor *c, size_t len)
{
	/* stored in more and smaller pieces than ISA-L's of 64 kB */
	return libdeflate_gzip_compress_bound(NULL, len);
}

/* A member made by ISA-L at ISAL_LEVEL; 0 if there was not enough room. */
static size_t
isal_member(BlockCompressor *c, const void *data, size_t len, void *out)
{
	struct isal_zstream *stream = c->isal;

	/* stateless: all input and all room for output are given at once */
	isal_deflate_stateless_init(stream);
	stream->level = ISAL_LEVEL;
	stream->level_buf = c->isal_level;
	stream->level_buf_size = ISAL_LEVEL_BYTES;
	stream->gzip_flag = IGZIP_GZIP;
	stream->end_of_stream = 1;
	stream->next_in = (uint8_t *) data;
	stream->avail_in = len;
	stream->next_out = out;
	stream->avail_out = gzip_bound(c, len);
	if (isal_deflate_stateless(stream) != COMP_OK || stream->avail_in > 0)
		return 0;
	return stream->total_out;
}

static ssize_t
gzip_whole(BlockCompressor *c, const void *data, size_t len, void *out)
{
	size_t		made = c->isal ? isal_member(c, data, len, out) :
		libdeflate_gzip_compress(c->libdeflate, data, len, out,
								 gzip_bound(c, len));

	if (made == 0)
	{
		c->error = "a gzip member exceeds its bound";
		return -1;
	}
	return (ssize_t) made;
}

/* ----------
 * lz4
 * ----------
 */
static bool
lz4_set_up(BlockCompressor *c)
{
	/* pg_restore reads larger blocks several times slower */
	c->lz4_preferences.frameInfo.blockSizeID = LZ4F_max64KB;
	c->lz4_preferences.compressionLevel = c->spec.level;
	if (c->checksums)
		c->lz4_preferences.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled;
	return !LZ4F_isError(LZ4F_createCompressionContext(&c->lz4, LZ4F_VERSION));
}

static size_t
lz4_out_bytes(const BlockCompressor *c)
{
	/* each call of the library must have room for its worst case */
	size_t		bound = LZ4F_compressBound(LZ4_STEP_BYTES, &c->lz4_preferences);

	return bound > LZ4F_HEADER_SIZE_MAX ? bound : LZ4F_HEADER_SIZE_MAX;
}

static size_t
lz4_bound(const BlockCompressor *c, size_t len)
{
	return LZ4F_HEADER_SIZE_MAX + LZ4F_compressBound(len, &c->lz4_preferences);
}

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
	size_t		out_bytes = lz4_out_bytes(c);
	ssize_t		made = 0;

	/* the frame's header is a piece of output by itself */
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
	/* an end without input, too: no file is without a frame */
	if (made != 0 || !c->last)
		return made;
	c->ended = true;
	return lz4_result(c, LZ4F_compressEnd(c->lz4, out, out_bytes, NULL));
}

/*
 * As LZ4F_compressFrame(), which would make a context of its own for each
 * call.
 */
static ssize_t
lz4_whole(BlockCompressor *c, const void *data, size_t len, void *out)
{
	char	   *pos = out;
	size_t		room = lz4_bound(c, len);
	ssize_t		head;
	ssize_t		body = 0;
	ssize_t		end;

	head = lz4_result(c, LZ4F_compressBegin(c->lz4, pos, room,
											&c->lz4_preferences));
	if (head >= 0)
		body = lz4_result(c, LZ4F_compressUpdate(c->lz4, pos + head, room - head,
												 data, len, NULL));
	if (head < 0 || body < 0)
		return -1;
	end = lz4_result(c, LZ4F_compressEnd(c->lz4, pos + head + body,
										 room - head - body, NULL));
	return end < 0 ? -1 : head + body + end;
}

/* ----------
 * zstd
 * ----------
 */

static bool
set_zstd(BlockCompressor *c, ZSTD_cParameter parameter, int value)
{
	return !ZSTD_isError(ZSTD_CCtx_setParameter(c->zstd, parameter, value));
}

static bool
zstd_set_up(BlockCompressor *c)
{
	/* the streams of the first level, and of those below it, are frames */
	if (c->spec.level != 0 && c->spec.level <= ZSTD_FRAME_LEVEL &&
		c->spec.workers == 0 && !c->spec.long_distance)
		c->part_bytes = ZSTD_FRAME_BYTES;
	c->zstd = ZSTD_createCCtx();
	return c->zstd &&
		set_zstd(c, ZSTD_c_compressionLevel, c->spec.level) &&
		set_zstd(c, ZSTD_c_nbWorkers, c->spec.workers) &&
		set_zstd(c, ZSTD_c_checksumFlag, c->checksums) &&
		set_zstd(c, ZSTD_c_enableLongDistanceMatching,
				 c->spec.long_distance) &&
		(c->part_bytes == 0 ||
		 set_zstd(c, ZSTD_c_windowLog, ZSTD_FRAME_LOG));
}

static size_t
stream_out_bytes(const BlockCompressor *c)
{
	return ZSTD_CStreamOutSize();
}

static size_t
zstd_bound(const BlockCompressor *c, size_t len)
{
	return ZSTD_compressBound(len);
}

static ssize_t
zstd_fetch(BlockCompressor *c, void *out)
{
	ZSTD_outBuffer to = {out, stream_out_bytes(c), 0};
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

static ssize_t
zstd_whole(BlockCompressor *c, const void *data, size_t len, void *out)
{
	size_t		made = ZSTD_compress2(c->zstd, out, ZSTD_compressBound(len), data,
									  len);

	if (ZSTD_isError(made))
	{
		c->error = ZSTD_getErrorName(made);
		return -1;
	}
	return (ssize_t) made;
}

/* ----------
 * All of them
 * ----------
 */

/*
 * Indexed by CompressMethod.  gzip's streams are always of whole buffers, so
 * it has no fetch(), and a member has a CRC anyway.
 */
static const Codec codecs[N_COMPRESS_METHODS] = {
	[COMPRESS_GZIP] = {
		.set_up = gzip_set_up,
		.out_bytes = stream_out_bytes,
		.bound = gzip_bound,
		.whole = gzip_whole
	},
	[COMPRESS_LZ4] = {
		.set_up = lz4_set_up,
		.out_bytes = lz4_out_bytes,
		.bound = lz4_bound,
		.fetch = lz4_fetch,
		.whole = lz4_whole
	},
	[COMPRESS_ZSTD] = {
		.set_up = zstd_set_up,
		.out_bytes = stream_out_bytes,
		.bound = zstd_bound,
		.fetch = zstd_fetch,
		.whole = zstd_whole
	},
};

BlockCompressor *
block_compressor_new(const CompressSpec *spec, bool checksums)
{
	BlockCompressor *c = calloc(1, sizeof(BlockCompressor));

	if (c == NULL)
		return NULL;
	c->spec = *spec;
	c->checksums = checksums;
	c->codec = &codecs[spec->method];
	if (!c->codec->set_up(c))
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
	c->part_len = c->made_len = c->made_pos = 0;
	/* the other libraries begin again by themselves */
	if (c->zstd)
		ZSTD_CCtx_reset(c->zstd, ZSTD_reset_session_only);
}

size_t
block_compressor_out_bytes(const BlockCompressor *c)
{
	return c->codec->out_bytes(c);
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
	if (c->ended)
		return 0;
	if (c->part_bytes > 0)
		return buffers_fetch(c, out);
	if (c->in_len == 0 && !c->last)
		return 0;
	return c->codec->fetch(c, out);
}

size_t
block_compressor_bound(const BlockCompressor *c, size_t len)
{
	return c->codec->bound(c, len);
}

ssize_t
block_compressor_whole(BlockCompressor *c, const void *data, size_t len,
					   void *out)
{
	/* The stream that was there is given up, also its error. */
	block_compressor_reset(c);
	return c->codec->whole(c, data, len, out);
}

const char *
block_compressor_error(const BlockCompressor *c)
{
	return c->error;
}

void
block_compressor_free(BlockCompressor *c)
{
	/* only the method in use has allocated; older libdeflates take no NULL */
	if (c->libdeflate)
		libdeflate_free_compressor(c->libdeflate);
	free(c->isal);
	free(c->isal_level);
	LZ4F_freeCompressionContext(c->lz4);
	ZSTD_freeCCtx(c->zstd);
	free(c->part);
	free(c->made);
	free(c);
}
