/*-------------------------------------------------------------------------
 *
 * byte_block.h
 *	  Loads, tests and stores blocks of 16 bytes at a time.
 *
 * The conversions of text and numbers (digits.h, escape.h) and pglz.c
 * use these functions in their inner loops.
 *
 * A ByteBlock is a vector type of the compiler, gcc or clang, which keeps it
 * in a vector register if the processor has such registers.  A test returns
 * flags: a block in which all bits are set in each byte that passes the test,
 * and no bits in the other bytes.  The compiler's vector types cannot find
 * out which bytes are flagged, so this is written three times: with SSE2,
 * with NEON, and portably with two 64-bit words.  PostgreSQL's port/simd.h
 * has similar functions, but not in 15, and those of 16 only report whether
 * any byte passed a test.
 *
 * If PARDUMP_NO_SIMD is defined, the portable variant is compiled on all
 * processors.  test/simd/run.sh uses this to test it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_BYTE_BLOCK_H
#define PARDUMP_BYTE_BLOCK_H

#include "port/pg_bitutils.h"
#include "port/pg_bswap.h"

#define BYTE_BLOCK_SIZE 16

/* Make a word of eight bytes that are all c. */
#define EACH_BYTE(c)	(UINT64CONST(0x0101010101010101) * (c))

#if defined(__SSE2__) && !defined(PARDUMP_NO_SIMD)
#define BYTE_BLOCK_SSE2
#include <emmintrin.h>
#elif defined(__aarch64__) && defined(__ARM_NEON) && \
	!defined(WORDS_BIGENDIAN) && !defined(PARDUMP_NO_SIMD)
#define BYTE_BLOCK_NEON
#include <arm_neon.h>
#endif

/*
 * Load eight bytes into a word.  On every processor the first byte becomes
 * the lowest byte of the word, so that bit positions mean the same.
 */
static inline uint64
load_word(const char *bytes)
{
	uint64		word;

	memcpy(&word, bytes, 8);
#ifdef WORDS_BIGENDIAN
	word = pg_bswap64(word);
#endif
	return word;
}

static inline void
store_word(char *bytes, uint64 word)
{
#ifdef WORDS_BIGENDIAN
	word = pg_bswap64(word);
#endif
	memcpy(bytes, &word, 8);
}

typedef uint8 ByteBlock __attribute__((vector_size(BYTE_BLOCK_SIZE)));
typedef uint64 BlockWords __attribute__((vector_size(BYTE_BLOCK_SIZE)));

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

/*
 * Make a block of two words, without a change of the order in which their
 * bytes are in memory.
 */
static inline ByteBlock
byte_block_from_words(uint64 low, uint64 high)
{
	BlockWords	words = {low, high};

	return (ByteBlock) words;
}

/* Make a block of bytes that are all c. */
static inline ByteBlock
byte_block_of(uint8 c)
{
	ByteBlock	block = {c, c, c, c, c, c, c, c, c, c, c, c, c, c, c, c};

	return block;
}

/* Flag the bytes that equal c. */
static inline ByteBlock
byte_block_eq(ByteBlock block, uint8 c)
{
	return (ByteBlock) (block == byte_block_of(c));
}

/* Flag the bytes that are at most c, as unsigned numbers. */
static inline ByteBlock
byte_block_le(ByteBlock block, uint8 c)
{
	return (ByteBlock) (block <= byte_block_of(c));
}

/*
 * byte_block_mask(): Converts flags to a number that has MASK_BITS bits for
 * each byte, the lowest ones for the first byte.  All bits of a flagged byte
 * are set, all others are not.
 *
 * byte_block_bits(): The same, with one bit for each byte.
 */
#if defined(BYTE_BLOCK_SSE2)

#define MASK_BITS 1

static inline uint64
byte_block_bits(ByteBlock flags)
{
	return (uint32) _mm_movemask_epi8((__m128i) flags);
}

#define byte_block_mask(flags) byte_block_bits(flags)

#elif defined(BYTE_BLOCK_NEON)

/*
 * NEON has no instruction like SSE2's movemask.  Narrowing to four bits for
 * each byte takes one instruction, and is faster than making single bits.
 */
#define MASK_BITS 4

static inline uint64
byte_block_mask(ByteBlock flags)
{
	uint8x8_t	nibbles = vshrn_n_u16((uint16x8_t) flags, 4);

	return vget_lane_u64((uint64x1_t) nibbles, 0);
}

static inline uint64
byte_block_bits(ByteBlock flags)
{
	static const uint8 places[BYTE_BLOCK_SIZE] =
	{1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
	uint8x16_t	bits = vandq_u8((uint8x16_t) flags, vld1q_u8(places));

	return vaddv_u8(vget_low_u8(bits)) |
		(uint64) vaddv_u8(vget_high_u8(bits)) << 8;
}

#else

#define MASK_BITS 1

/*
 * Gather the high bits of a word's bytes in eight bits.  The product has the
 * high bit of byte i in bit 56 + i.  No two of its terms have the same bit,
 * so nothing is carried.
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
	BlockWords	words = (BlockWords) flags;

	return word_bits(words[0]) | word_bits(words[1]) << 8;
}

#define byte_block_mask(flags) byte_block_bits(flags)

#endif

static inline bool
byte_block_any(ByteBlock flags)
{
	return byte_block_mask(flags) != 0;
}

/* Return the index of the first flagged byte.  There must be one. */
static inline int
byte_block_first(ByteBlock flags)
{
	return pg_rightmost_one_pos64(byte_block_mask(flags)) / MASK_BITS;
}

/* Does the block contain a byte that is not ASCII? */
static inline bool
byte_block_has_high_bit(ByteBlock block)
{
#ifdef BYTE_BLOCK_NEON
	return vmaxvq_u8((uint8x16_t) block) >= 0x80;
#else
	/* bits are made of the high bits, which need not be flags */
	return byte_block_bits(block) != 0;
#endif
}

/*
 * Load 4 to 15 bytes into a block, which contains some of them twice.  Tests
 * of such a block can find out whether any byte passes, but not which one.
 * Reads no other bytes than these.
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

/*
 * Copy 4 to 15 bytes, as two words that overlap unless there are 8 bytes.  A
 * memcpy() of a length that the compiler does not know would be a call.
 */
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
