/*
 * compress.c
 *		Parses compression options, and compresses streams with gzip, lz4 or
 *		zstd.
 *
 * The server calls this through bytes/context_compressor.c, the programs from
 * stream/sink.c, basebackup/tar_layout.c and tar_archive.c.  The code is
 * compiled for both sides, so it uses only the C library and the compression
 * libraries, and returns errors to its callers.
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
 * Methods, and the parser of compression options
 *
 * The grammar and the limits are those of PostgreSQL's parser
 * (src/common/compression.c).  The parser itself cannot be used: that of 15
 * does not know the option "long", while programs built for 15 also write
 * archives for newer majors.
 * ----------
 */

typedef struct MethodInfo
{
	const char *name;
	const char *suffix;
	int			min_level;
	int			max_level;
	int			default_level;
	int			first_major;	/* the first whose pg_restore reads it */
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

/* Store a message, and return false: callers write "return fail(...)". */
#define fail(parser, ...) \
	(snprintf((parser)->error, COMPRESS_SPEC_ERROR_BYTES, __VA_ARGS__), false)

/* Parse an integer, all of which must be a number. */
static bool
parse_int(Parser *parser, const char *text, const char *option, int *value)
{
	char	   *end;
	long		number;

	/* if a number does not fit into a long, strtol() only sets errno */
	errno = 0;
	number = strtol(text, &end, 10);
	if (end == text || *end != '\0' || errno != 0 ||
		number < INT_MIN || number > INT_MAX)
		return fail(parser, "value for compression option \"%s\" must be an integer",
					option);
	*value = (int) number;
	return true;
}

/* Parse the Boolean value of "long", the only option that has one. */
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

/* Check that the method has such a level. */
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

/* A libzstd that was built without threads accepts no workers. */
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
 * Parse one option of a list, a name or NAME=VALUE.  An option without a
 * value is treated as one with an empty value; only "long" may have none.
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
	/* report an unknown option first, even if the method has no options */
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

/* Parse the text after the colon: only a level, or a list of options. */
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
 * The argument is copied, and the copy is split into words in place.  Limits
 * are checked as each option is parsed, so the first wrong one is reported.
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
		/* a number alone is a gzip level, or 0 for none, as in pg_dump -Z */
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
	/* the default, which is kept if the options contain no level */
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
 * Streams are compressed in two ways.  lz4, and zstd above its first level,
 * use the streams of their libraries, which refer back to earlier input.
 * gzip, and zstd's first level, gather the input into large buffers and
 * compress each buffer by itself.
 *
 * block_compressor_feed() only stores its arguments.  All output is made in
 * block_compressor_fetch(), so the caller decides how much output is made at
 * a time.
 * ----------
 */

/*
 * The fastest libraries for gzip compress only whole buffers.  So a gzip
 * stream is a sequence of members (RFC 1952, section 2.2), which zlib's
 * gzread(), and therefore every pg_restore, reads as one stream.  Input is
 * gathered up to this size, so that small writes do not make small members,
 * each of which would begin with an empty dictionary.
 */
#define GZIP_MEMBER_BYTES ((size_t) 1024 * 1024)

/*
 * A stream of zstd's first level is a sequence of frames, too.  The library's
 * own stream has a short window at this level.  It copies all input into a
 * ring buffer of that length, and a match may continue at the other end of
 * the ring, which takes a fifth to a quarter more CPU time than a buffer in
 * one piece.  Frames whose window is all of the frame are also smaller in
 * sum.  The windows of higher levels are longer than a frame should be.
 */
#define ZSTD_FRAME_LEVEL 1
#define ZSTD_FRAME_LOG 22
#define ZSTD_FRAME_BYTES ((size_t) 1 << ZSTD_FRAME_LOG)

/* The longest input of a call of LZ4F_compressUpdate(). */
#define LZ4_STEP_BYTES ((size_t) 256 * 1024)

/* The functions of a method.  fetch() may be NULL: see codecs[]. */
typedef struct Codec
{
	/* Allocate the library's state; false if out of memory. */
	bool		(*set_up) (BlockCompressor *c);

	/* The room for a call of fetch(), and for a call of whole(). */
	size_t		(*out_bytes) (const BlockCompressor *c);
	size_t		(*bound) (const BlockCompressor *c, size_t len);

	/* Return the next bytes of a stream of the library. */
	ssize_t		(*fetch) (BlockCompressor *c, void *out);

	/* Make one frame or member; returns its length, or -1 with an error. */
	ssize_t		(*whole) (BlockCompressor *c, const void *data, size_t len,
						  void *out);
} Codec;

struct BlockCompressor
{
	const Codec *codec;
	CompressSpec spec;
	bool		checksums;
	const char *in;				/* borrowed: input not yet compressed */
	size_t		in_len;
	bool		last;			/* the stream ends with in */
	bool		begun;			/* some of its output was made */
	bool		ended;			/* all of its output was made */
	const char *error;

	/* for a stream of whole buffers */
	size_t		part_bytes;		/* of a buffer; 0 = a stream of the library */
	char	   *part;			/* input for the next buffer, or NULL */
	size_t		part_len;
	char	   *made;			/* the last buffer, compressed, or NULL */
	size_t		made_len;
	size_t		made_pos;		/* fetched up to here */

	/* the library's state, for the method in use */
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

/*
 * Return the next whole buffer of input, or the rest of the input at the end
 * of the stream; NULL if more input is needed.
 */
static const char *
gather(BlockCompressor *c, size_t *len)
{
	const char *in = c->in;

	/* the bytes that are missing from the next whole buffer */
	size_t		part = c->part_bytes - c->part_len;

	if (c->in_len < part)
		part = c->in_len;
	c->in += part;
	c->in_len -= part;
	*len = c->part_len + part;
	/* the input contains a whole buffer, which need not be copied */
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
 * Allocate memory for a buffer and for its compressed form.  This happens
 * when the first output is fetched, because block_compressor_whole() does not
 * need this memory.
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
 * Return the next bytes of a stream of whole buffers.  A compressed buffer
 * may be longer than "out", and is returned in pieces then.
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
		/* a stream without input has one empty member: no file is empty */
		if (len == 0 && c->begun)
		{
			c->ended = true;
			return 0;
		}
		c->begun = true;
		/* compress into memory of its own, as out may be too small for it */
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
 * The levels are those of zlib: each makes files that are about as large as
 * zlib's, or smaller, with the library that takes the least time for it.
 * This is ISA-L for level 1, and libdeflate for the levels above, as ISA-L
 * has no levels that compress so well.
 * ----------
 */

/*
 * All levels of ISA-L are about as fast as level 1 of other libraries.  This
 * one takes a tenth more time than the fastest, and makes files that are a
 * few percent smaller.
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
	/* libdeflate's next lower level still makes smaller files than zlib */
	c->libdeflate = libdeflate_alloc_compressor(c->spec.level - 1);
	return c->libdeflate != NULL;
}

static size_t
gzip_bound(const BlockCompressor *c, size_t len)
{
	/*
	 * The bound of libdeflate also holds for ISA-L: both store data that
	 * cannot be compressed in blocks, and libdeflate assumes smaller ones
	 * than ISA-L's of 64 kB, so more bytes for their headers.
	 */
	return libdeflate_gzip_compress_bound(NULL, len);
}

/* Make a member with ISA-L; returns its length, or 0 if room is missing. */
static size_t
isal_member(BlockCompressor *c, const void *data, size_t len, void *out)
{
	struct isal_zstream *stream = c->isal;

	/* "stateless" means that all input and output is passed in one call */
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

/* Make one member.  The libraries only fail if the output lacks room. */
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
	/* pg_restore reads files with larger blocks several times more slowly */
	c->lz4_preferences.frameInfo.blockSizeID = LZ4F_max64KB;
	c->lz4_preferences.compressionLevel = c->spec.level;
	if (c->checksums)
		c->lz4_preferences.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled;
	return !LZ4F_isError(LZ4F_createCompressionContext(&c->lz4, LZ4F_VERSION));
}

static size_t
lz4_out_bytes(const BlockCompressor *c)
{
	/* the library refuses a call without room for its worst case */
	size_t		bound = LZ4F_compressBound(LZ4_STEP_BYTES, &c->lz4_preferences);

	return bound > LZ4F_HEADER_SIZE_MAX ? bound : LZ4F_HEADER_SIZE_MAX;
}

static size_t
lz4_bound(const BlockCompressor *c, size_t len)
{
	return LZ4F_HEADER_SIZE_MAX + LZ4F_compressBound(len, &c->lz4_preferences);
}

/* Return a result of the library, or store its error and return -1. */
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

/* Return the header of the frame, compressed input, or its end. */
static ssize_t
lz4_fetch(BlockCompressor *c, void *out)
{
	size_t		out_bytes = lz4_out_bytes(c);
	ssize_t		made = 0;

	/* the first call returns only the header of the frame */
	if (!c->begun)
	{
		c->begun = true;
		return lz4_result(c, LZ4F_compressBegin(c->lz4, out, out_bytes,
												&c->lz4_preferences));
	}
	/* the library may keep small input, and then makes no output */
	while (c->in_len > 0 && made == 0)
	{
		size_t		part = c->in_len < LZ4_STEP_BYTES ? c->in_len : LZ4_STEP_BYTES;

		made = lz4_result(c, LZ4F_compressUpdate(c->lz4, out, out_bytes,
												 c->in, part, NULL));
		c->in += part;
		c->in_len -= part;
	}
	/* a stream without input is ended as well, so that it has a frame */
	if (made != 0 || !c->last)
		return made;
	c->ended = true;
	return lz4_result(c, LZ4F_compressEnd(c->lz4, out, out_bytes, NULL));
}

/*
 * Make one frame.  LZ4F_compressFrame() does the same, but allocates a
 * context in each call.
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
	/* level 1 and the negative levels use whole buffers; 0 means level 3 */
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

/* Let the library compress input until the output is full. */
static ssize_t
zstd_fetch(BlockCompressor *c, void *out)
{
	ZSTD_outBuffer to = {out, stream_out_bytes(c), 0};
	ZSTD_inBuffer from = {c->in, c->in_len, 0};
	ZSTD_EndDirective mode = c->last ? ZSTD_e_end : ZSTD_e_continue;

	/* continue until the output is full, or all input is compressed */
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
 * Compressors of all methods
 * ----------
 */

/*
 * Indexed by CompressMethod.  gzip needs no fetch(), as its streams are
 * always sequences of whole buffers.
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
	/* the other libraries reset themselves when a frame or member begins */
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
	/* discard a stream that was not completed, and its error */
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
	/*
	 * Only the pointers of the method in use are set.  All of these functions
	 * accept NULL, except that of older versions of libdeflate.
	 */
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
