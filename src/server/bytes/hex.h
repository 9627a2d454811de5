/*-------------------------------------------------------------------------
 *
 * hex.h
 *	  Converts bytes to hexadecimal digits, and back.
 *
 * types/text.c (bytea, uuid, MAC addresses), types/network.c and types/json.c
 * use these functions.  They convert 16 bytes or 16 digits at a time.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_HEX_H
#define PARDUMP_HEX_H

#include "bytes/byte_block.h"

/* ----------
 * Writes bytes as lower-case hexadecimal digits in place.
 * ----------
 */

static const char hex_digits[16] = "0123456789abcdef";

static inline char *
put_hex_byte(char *p, uint8 byte)
{
	p[0] = hex_digits[byte >> 4];
	p[1] = hex_digits[byte & 15];
	return p + 2;
}

/*
 * Return the digits of 16 values below 16.  A digit is its value plus '0';
 * for values above 9, also plus the characters between '9' and 'a'.
 */
static inline ByteBlock
hex_from_nibbles(ByteBlock nibbles)
{
	return nibbles + '0' + (~byte_block_le(nibbles, 9) & ('a' - '9' - 1));
}

/* Write 16 bytes as 32 digits. */
static inline char *
put_hex_16(char *p, const uint8 *bytes)
{
	ByteBlock	block = byte_block_load((const char *) bytes);
	ByteBlock	high = hex_from_nibbles(block >> 4);
	ByteBlock	low = hex_from_nibbles(block & 0x0f);

	/* interleave the digits: each byte's high digit comes first */
#if defined(BYTE_BLOCK_SSE2)
	_mm_storeu_si128((__m128i *) p,
					 _mm_unpacklo_epi8((__m128i) high, (__m128i) low));
	_mm_storeu_si128((__m128i *) (p + BYTE_BLOCK_SIZE),
					 _mm_unpackhi_epi8((__m128i) high, (__m128i) low));
#elif defined(BYTE_BLOCK_NEON)
	vst1q_u8((uint8 *) p, vzip1q_u8((uint8x16_t) high, (uint8x16_t) low));
	vst1q_u8((uint8 *) p + BYTE_BLOCK_SIZE,
			 vzip2q_u8((uint8x16_t) high, (uint8x16_t) low));
#else
	for (int i = 0; i < BYTE_BLOCK_SIZE; i++)
	{
		p[2 * i] = high[i];
		p[2 * i + 1] = low[i];
	}
#endif
	return p + 2 * BYTE_BLOCK_SIZE;
}

/* ----------
 * Reads bytes from hexadecimal digits of either case.
 *
 * The value of a letter is its low four bits plus 9, as 'A' is 0x41 and 'a'
 * is 0x61.  Letters have bit 0x40, digits do not.
 * ----------
 */

static inline bool
is_hex_digit(char c)
{
	return (unsigned char) (c - '0') <= 9 ||
		(unsigned char) ((c | 0x20) - 'a') <= 5;
}

static inline uint8
hex_value(char c)
{
	return (c & 0x0f) + (c & 0x40 ? 9 : 0);
}

/* Read a byte from two characters; false if one of them is not a digit. */
static inline bool
read_hex_byte(const char *p, uint8 *byte)
{
	*byte = hex_value(p[0]) << 4 | hex_value(p[1]);
	return is_hex_digit(p[0]) && is_hex_digit(p[1]);
}

static inline bool
are_16_hex_digits(const char *p)
{
	ByteBlock	block = byte_block_load(p);
	ByteBlock	flags = byte_block_le(block - '0', 9) |
		byte_block_le((block | 0x20) - 'a', 5);

	return !byte_block_any(~flags);
}

/* Read 4 bytes from 8 characters, all of which must be digits. */
static inline void
put_4_bytes_of_hex(uint8 *to, const char *p)
{
	uint64		word = load_word(p);
	uint64		values;
	uint32		bytes;

	values = (word & EACH_BYTE(0x0f)) + 9 * (word >> 6 & EACH_BYTE(1));
	/* combine two digits in the low byte of each 16 bits, then join these */
	values = (values << 4 | values >> 8) & UINT64CONST(0x00ff00ff00ff00ff);
	values = (values | values >> 8) & UINT64CONST(0x0000ffff0000ffff);
	bytes = (uint32) (values | values >> 16);
#ifdef WORDS_BIGENDIAN
	bytes = pg_bswap32(bytes);
#endif
	memcpy(to, &bytes, 4);
}

/* Read 8 bytes from 16 characters; false if one of them is not a digit. */
static inline bool
read_hex_8(const char *p, uint8 *to)
{
	put_4_bytes_of_hex(to, p);
	put_4_bytes_of_hex(to + 4, p + 8);
	return are_16_hex_digits(p);
}

#endif							/* PARDUMP_HEX_H */
