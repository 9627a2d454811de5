/*-------------------------------------------------------------------------
 *
 * byte_block.h
 *	  Blocks of 16 bytes that are tested all at once, by SSE2 or NEON where
 *	  the compiler's target has them, else in two 64-bit words.
 *
 * A test gives flags: a block in which the bytes that pass are not zero.
 * PostgreSQL's port/simd.h has the like from version 16 on only, and does not
 * say which byte it was.
 *
 * Defining PARDUMP_NO_SIMD takes the portable variant, to test it where there
 * is another.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_BYTE_BLOCK_H
#define PARDUMP_BYTE_BLOCK_H

#include "port/pg_bitutils.h"
#include "port/pg_bswap.h"

#define BYTE_BLOCK_SIZE 16

/* A word of eight bytes that are all c. */
#define EACH_BYTE(c)	(UINT64CONST(0x0101010101010101) * (c))

#if defined(__SSE2__) && !defined(PARDUMP_NO_SIMD)
#define BYTE_BLOCK_SSE2
#include <emmintrin.h>
#elif defined(__aarch64__) && defined(__ARM_NEON) && \
	!defined(WORDS_BIGENDIAN) && !defined(PARDUMP_NO_SIMD)
#define BYTE_BLOCK_NEON
#include <arm_neon.h>
#endif

#ifdef BYTE_BLOCK_SSE2

typedef __m128i ByteBlock;

static inline ByteBlock
byte_block_load(const char *bytes)
{
	return _mm_loadu_si128((const __m128i *) bytes);
}

static inline void
byte_block_store(char *bytes, ByteBlock block)
{
	_mm_storeu_si128((__m128i *) bytes, block);
}

/* A block of 16 bytes as they stand in memory in the two words. */
static inline ByteBlock
byte_block_from_words(uint64 low, uint64 high)
{
	return _mm_set_epi64x((int64) high, (int64) low);
}

/* Flag the bytes that equal c. */
static inline ByteBlock
byte_block_eq(ByteBlock block, uint8 c)
{
	return _mm_cmpeq_epi8(block, _mm_set1_epi8((char) c));
}

/* Flag the bytes that are, unsigned, at most c, which is below 0x80. */
static inline ByteBlock
byte_block_le(ByteBlock block, uint8 c)
{
	return _mm_cmpeq_epi8(_mm_min_epu8(block, _mm_set1_epi8((char) c)),
						  block);
}

/* Is any byte not ASCII? */
static inline bool
byte_block_has_high_bit(ByteBlock block)
{
	return _mm_movemask_epi8(block) != 0;
}

static inline ByteBlock
byte_block_or(ByteBlock a, ByteBlock b)
{
	return _mm_or_si128(a, b);
}

static inline bool
byte_block_any(ByteBlock flags)
{
	return _mm_movemask_epi8(flags) != 0;
}

/* The place of the first flag; there must be one. */
static inline int
byte_block_first(ByteBlock flags)
{
	return pg_rightmost_one_pos32((uint32) _mm_movemask_epi8(flags));
}

/* One bit a byte, the first byte's the lowest: set where a flag is. */
static inline uint64
byte_block_bits(ByteBlock flags)
{
	return (uint32) _mm_movemask_epi8(flags);
}

#elif defined(BYTE_BLOCK_NEON)

typedef uint8x16_t ByteBlock;

static inline ByteBlock
byte_block_load(const char *bytes)
{
	return vld1q_u8((const uint8 *) bytes);
}

static inline void
byte_block_store(char *bytes, ByteBlock block)
{
	vst1q_u8((uint8 *) bytes, block);
}

static inline ByteBlock
byte_block_from_words(uint64 low, uint64 high)
{
	return vreinterpretq_u8_u64(vcombine_u64(vcreate_u64(low),
											 vcreate_u64(high)));
}

static inline ByteBlock
byte_block_eq(ByteBlock block, uint8 c)
{
	return vceqq_u8(block, vdupq_n_u8(c));
}

static inline ByteBlock
byte_block_le(ByteBlock block, uint8 c)
{
	return vcleq_u8(block, vdupq_n_u8(c));
}

static inline bool
byte_block_has_high_bit(ByteBlock block)
{
	return vmaxvq_u8(block) >= 0x80;
}

static inline ByteBlock
byte_block_or(ByteBlock a, ByteBlock b)
{
	return vorrq_u8(a, b);
}

/* Four bits a byte: NEON has no movemask. */
static inline uint64
byte_block_nibbles(ByteBlock flags)
{
	uint8x8_t	nibbles = vshrn_n_u16(vreinterpretq_u16_u8(flags), 4);

	return vget_lane_u64(vreinterpret_u64_u8(nibbles), 0);
}

static inline bool
byte_block_any(ByteBlock flags)
{
	return byte_block_nibbles(flags) != 0;
}

static inline int
byte_block_first(ByteBlock flags)
{
	return pg_rightmost_one_pos64(byte_block_nibbles(flags)) / 4;
}

static inline uint64
byte_block_bits(ByteBlock flags)
{
	static const uint8 places[BYTE_BLOCK_SIZE] =
	{1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
	uint8x16_t	bits = vandq_u8(flags, vld1q_u8(places));

	return vaddv_u8(vget_low_u8(bits)) |
		(uint64) vaddv_u8(vget_high_u8(bits)) << 8;
}

#else

typedef struct ByteBlock
{
	uint64		words[2];
} ByteBlock;

static inline ByteBlock
byte_block_load(const char *bytes)
{
	ByteBlock	block;

	memcpy(&block, bytes, BYTE_BLOCK_SIZE);
	return block;
}

static inline void
byte_block_store(char *bytes, ByteBlock block)
{
	memcpy(bytes, &block, BYTE_BLOCK_SIZE);
}

static inline ByteBlock
byte_block_from_words(uint64 low, uint64 high)
{
	ByteBlock	block = {{low, high}};

	return block;
}

/*
 * The high bit of each byte of "word" that is at most c.  Exact: a borrow
 * cannot leave its byte, as the high bit is set before it is subtracted from.
 */
static inline uint64
word_le(uint64 word, uint8 c)
{
	uint64		above = (word | EACH_BYTE(0x80)) - EACH_BYTE(c + 1);

	return ~(above | word) & EACH_BYTE(0x80);
}

static inline ByteBlock
byte_block_le(ByteBlock block, uint8 c)
{
	return byte_block_from_words(word_le(block.words[0], c),
								 word_le(block.words[1], c));
}

static inline ByteBlock
byte_block_eq(ByteBlock block, uint8 c)
{
	return byte_block_from_words(word_le(block.words[0] ^ EACH_BYTE(c), 0),
								 word_le(block.words[1] ^ EACH_BYTE(c), 0));
}

static inline bool
byte_block_has_high_bit(ByteBlock block)
{
	return ((block.words[0] | block.words[1]) & EACH_BYTE(0x80)) != 0;
}

static inline ByteBlock
byte_block_or(ByteBlock a, ByteBlock b)
{
	return byte_block_from_words(a.words[0] | b.words[0],
								 a.words[1] | b.words[1]);
}

static inline bool
byte_block_any(ByteBlock flags)
{
	return (flags.words[0] | flags.words[1]) != 0;
}

static inline int
byte_block_first(ByteBlock flags)
{
	int			word = flags.words[0] != 0 ? 0 : 1;

#ifdef WORDS_BIGENDIAN
	return 8 * word + (63 - pg_leftmost_one_pos64(flags.words[word])) / 8;
#else
	return 8 * word + pg_rightmost_one_pos64(flags.words[word]) / 8;
#endif
}

/*
 * The high bits of a word's bytes, gathered: the product has that of byte i
 * in bit 56 + i, and no two of its terms meet.
 */
static inline uint64
word_bits(uint64 word)
{
#ifdef WORDS_BIGENDIAN
	word = pg_bswap64(word);
#endif
	return (((word >> 7) & EACH_BYTE(1)) *
			UINT64CONST(0x0102040810204080)) >> 56;
}

static inline uint64
byte_block_bits(ByteBlock flags)
{
	return word_bits(flags.words[0]) | word_bits(flags.words[1]) << 8;
}

#endif

/*
 * A block that holds all of "len" bytes, 4 to 15, some of them twice: for
 * tests of any and none.  Reads nothing beside them.
 */
static inline ByteBlock
byte_block_from_short(const char *bytes, Size len)
{
	Assert(len >= 4 && len < BYTE_BLOCK_SIZE);
	if (len >= 8)
	{
		uint64		low;
		uint64		high;

		memcpy(&low, bytes, 8);
		memcpy(&high, bytes + len - 8, 8);
		return byte_block_from_words(low, high);
	}
	else
	{
		uint32		low;
		uint32		high;
		uint64		both;

		memcpy(&low, bytes, 4);
		memcpy(&high, bytes + len - 4, 4);
		both = low | (uint64) high << 32;
		return byte_block_from_words(both, both);
	}
}

/* Copy 4 to 15 bytes. */
static inline void
copy_short(char *to, const char *from, Size len)
{
	Assert(len >= 4 && len < BYTE_BLOCK_SIZE);
	if (len >= 8)
	{
		memcpy(to, from, 8);
		memcpy(to + len - 8, from + len - 8, 8);
	}
	else
	{
		memcpy(to, from, 4);
		memcpy(to + len - 4, from + len - 4, 4);
	}
}

#endif							/* PARDUMP_BYTE_BLOCK_H */
