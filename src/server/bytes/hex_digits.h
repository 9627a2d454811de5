/*-------------------------------------------------------------------------
 *
 * hex_digits.h
 *	  Writes bytes as lower-case hexadecimal digits in place.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_HEX_DIGITS_H
#define PARDUMP_HEX_DIGITS_H

#include "postgres.h"

#if defined(__SSE2__) && !defined(PARDUMP_NO_SIMD)
#include <emmintrin.h>
#elif defined(__aarch64__) && defined(__ARM_NEON) && !defined(PARDUMP_NO_SIMD)
#include <arm_neon.h>
#endif

static const char hex_digits[16] = "0123456789abcdef";

static inline char *
put_hex_byte(char *p, uint8 byte)
{
	p[0] = hex_digits[byte >> 4];
	p[1] = hex_digits[byte & 15];
	return p + 2;
}

/* Write 16 bytes as 32 digits. */
#if defined(__SSE2__) && !defined(PARDUMP_NO_SIMD)

/* A digit is its value plus '0', plus the way from '9' to 'a' beyond 9. */
static inline __m128i
hex_from_nibbles(__m128i nibbles)
{
	__m128i		letters = _mm_cmpgt_epi8(nibbles, _mm_set1_epi8(9));

	return _mm_add_epi8(_mm_add_epi8(nibbles, _mm_set1_epi8('0')),
						_mm_and_si128(letters, _mm_set1_epi8('a' - '9' - 1)));
}

static inline char *
put_hex_16(char *p, const uint8 *bytes)
{
	__m128i		in = _mm_loadu_si128((const __m128i *) bytes);
	__m128i		mask = _mm_set1_epi8(0x0f);
	__m128i		high = _mm_and_si128(_mm_srli_epi16(in, 4), mask);
	__m128i		low = _mm_and_si128(in, mask);

	_mm_storeu_si128((__m128i *) p,
					 hex_from_nibbles(_mm_unpacklo_epi8(high, low)));
	_mm_storeu_si128((__m128i *) (p + 16),
					 hex_from_nibbles(_mm_unpackhi_epi8(high, low)));
	return p + 32;
}

#elif defined(__aarch64__) && defined(__ARM_NEON) && !defined(PARDUMP_NO_SIMD)

static inline char *
put_hex_16(char *p, const uint8 *bytes)
{
	uint8x16_t	in = vld1q_u8(bytes);
	uint8x16_t	digits = vld1q_u8((const uint8 *) hex_digits);
	uint8x16x2_t chars;

	chars.val[0] = vqtbl1q_u8(digits, vshrq_n_u8(in, 4));
	chars.val[1] = vqtbl1q_u8(digits, vandq_u8(in, vdupq_n_u8(0x0f)));
	vst2q_u8((uint8 *) p, chars);
	return p + 32;
}

#else

static inline char *
put_hex_16(char *p, const uint8 *bytes)
{
	for (int i = 0; i < 16; i++)
		p = put_hex_byte(p, bytes[i]);
	return p;
}

#endif

#endif							/* PARDUMP_HEX_DIGITS_H */
